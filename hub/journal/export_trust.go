package journal

import "encoding/hex"

// The forms below leave out what would open a door: the secret of an invite and its hash.

type exportedApproval struct {
	Hub       string   `json:"hub"`
	Endpoints []string `json:"endpoints"`
	Pins      []string `json:"pins"`
	MayReach  []string `json:"may_reach"`
	By        string   `json:"by"`
	User      string   `json:"user"`
}

type exportedInvite struct {
	ID        string `json:"id"`
	By        string `json:"by"`
	User      string `json:"user"`
	ExpiresUS int64  `json:"expires_us"`
}

type exportedWithdrawal struct {
	ID   string `json:"id"`
	By   string `json:"by"`
	User string `json:"user"`
}

type exportedJoin struct {
	Hub       string   `json:"hub"`
	Pin       string   `json:"pin"`
	Endpoints []string `json:"endpoints"`
	ExpiresUS int64    `json:"expires_us"`
	User      string   `json:"user"`
}

type exportedCall struct {
	Hub       string   `json:"hub"`
	Pin       string   `json:"pin"`
	Endpoints []string `json:"endpoints"`
	Host      string   `json:"host"`
	InviteID  string   `json:"invite_id"`
}

type exportedRejection struct {
	Hub       string   `json:"hub"`
	Pin       string   `json:"pin"`
	Endpoints []string `json:"endpoints"`
	By        string   `json:"by"`
	User      string   `json:"user"`
}

// exportTrust shows a record about who is trusted.
func exportTrust(rec any) any {
	switch r := rec.(type) {
	case PeerApproved:
		pins := make([]string, len(r.Pins))
		for i := range r.Pins {
			pins[i] = hex.EncodeToString(r.Pins[i][:])
		}
		return exportedApproval{r.Hub, r.Endpoints, pins, r.MayReach, r.By, r.User}
	case InviteCreated:
		return exportedInvite{r.ID, r.By, r.User, r.ExpiresUS}
	case InviteWithdrawn:
		return exportedWithdrawal(r)
	case PeerJoined:
		return exportedJoin{r.Hub, hex.EncodeToString(r.Pin[:]), r.Endpoints, r.ExpiresUS, r.User}
	case PeerCalled:
		return exportedCall{r.Hub, hex.EncodeToString(r.Pin[:]), r.Endpoints, r.Host, r.InviteID}
	case PeerRejected:
		return exportedRejection{r.Hub, hex.EncodeToString(r.Pin[:]), r.Endpoints, r.By, r.User}
	}
	return nil
}
