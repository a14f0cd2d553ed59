package federation

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"fleetrelay/hub/wire"
)

const (
	// InviteBytes is the size of an invitation's secret.
	InviteBytes = 16
	// maxToken bounds a token's text. Eight of the longest endpoints fit.
	maxToken = 4096
	// tokenPrefix names the form, so that another one can be told apart later.
	tokenPrefix = "fleet1."
	// tokenSum is how many bytes of the SHA-256 close a token: enough to tell a
	// mangled copy, and no protection against anybody.
	tokenSum = 4
)

// Invitation lets one other hub knock at this one and be known as invited.
// Whoever holds its token may use it, once; it approves nobody.
type Invitation struct {
	// Hub and Pin are who invites.
	Hub wire.HubID
	Pin Pin
	// Endpoints are where it is reached, 1 to [MaxEndpoints] HOST:PORT.
	Endpoints []string
	// Secret is what the invited hub shows. It is random.
	Secret [InviteBytes]byte
	// ExpiresUS is when it ends, in Unix microseconds on the inviter's clock.
	ExpiresUS int64
}

// tokenText is an invitation as its token holds it.
type tokenText struct {
	Hub       string   `json:"hub"`
	Pin       string   `json:"pin"`
	Endpoints []string `json:"endpoints"`
	Secret    string   `json:"secret"`
	ExpiresUS int64    `json:"expires_us"`
}

// Token returns the invitation as one word that survives being mailed: "fleet1."
// and base64url of strict JSON and "." and the first 8 hexadecimal digits of the
// SHA-256 of all before that dot. It holds the secret.
func (i Invitation) Token() string {
	body, err := wire.Marshal(tokenText{
		Hub: string(i.Hub), Pin: hex.EncodeToString(i.Pin[:]), Endpoints: i.Endpoints,
		Secret: hex.EncodeToString(i.Secret[:]), ExpiresUS: i.ExpiresUS,
	})
	if err != nil {
		panic("federation: an invitation that is no JSON: " + err.Error())
	}
	text := tokenPrefix + base64.RawURLEncoding.EncodeToString(body)
	return text + "." + sumOf(text)
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:tokenSum])
}

// Hash is the SHA-256 of the secret: all that the inviter keeps.
func (i Invitation) Hash() [32]byte { return InviteHash(i.Secret[:]) }

// InviteHash is [Invitation.Hash] of a secret that was shown.
func InviteHash(secret []byte) [32]byte { return sha256.Sum256(secret) }

// ParseToken reads what [Invitation.Token] wrote, and nothing else; white space
// around it is ignored. Whether it has expired is for the caller to judge. The
// error is a [*Refusal] with invalid_invite and never quotes the token.
func ParseToken(s string) (Invitation, error) {
	s = strings.TrimSpace(s)
	if len(s) > maxToken {
		return Invitation{}, badToken("is too long")
	}
	body, ok := strings.CutPrefix(s, tokenPrefix)
	if !ok {
		return Invitation{}, badToken("does not begin with " + tokenPrefix)
	}
	body, sum, ok := strings.Cut(body, ".")
	if !ok || sum != sumOf(tokenPrefix+body) {
		return Invitation{}, badToken("is incomplete or was altered: its last part does not fit the rest")
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(body)
	if err != nil {
		return Invitation{}, badToken("is not base64url")
	}
	var text tokenText
	if err := wire.Unmarshal(raw, &text); err != nil {
		return Invitation{}, badToken("holds no invitation")
	}
	return text.invitation(s)
}

func badToken(text string) error {
	return refuse(wire.ReasonInvalidInvite, "The token %s.", text)
}

// invitation checks every member; written again it must be the token it was
// read from, so that one invitation has one token.
func (t tokenText) invitation(token string) (Invitation, error) {
	i := Invitation{Hub: wire.HubID(t.Hub), Endpoints: t.Endpoints, ExpiresUS: t.ExpiresUS}
	if _, err := wire.ParseHubID(t.Hub); err != nil {
		return Invitation{}, badToken("names no hub")
	}
	if !fixedHex(i.Pin[:], t.Pin) || i.Pin == (Pin{}) {
		return Invitation{}, badToken("has no pin")
	}
	if !fixedHex(i.Secret[:], t.Secret) || i.Secret == ([InviteBytes]byte{}) {
		return Invitation{}, badToken("has no secret")
	}
	if len(t.Endpoints) == 0 || CheckEndpoints(t.Endpoints) != nil {
		return Invitation{}, badToken("has no endpoints, too many, or one that is not HOST:PORT")
	}
	if t.ExpiresUS <= 0 {
		return Invitation{}, badToken("has no end")
	}
	if i.Token() != token {
		return Invitation{}, badToken("is not in its one form")
	}
	return i, nil
}

// fixedHex fills dst from lower-case hexadecimal of exactly its size.
func fixedHex(dst []byte, s string) bool {
	if len(s) != hex.EncodedLen(len(dst)) || strings.ToLower(s) != s {
		return false
	}
	_, err := hex.Decode(dst, []byte(s))
	return err == nil
}
