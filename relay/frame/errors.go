package frame

import (
	"fmt"

	"fleetrelay/hub/wire"
)

// Error is a frame or an origin block that cannot be accepted. Reason is what the other end is told; Detail is for this
// side's operator and holds no content of a record.
type Error struct {
	Reason wire.Reason
	Detail string
}

func (e *Error) Error() string { return string(e.Reason) + ": " + e.Detail }

func protocolError(format string, args ...any) *Error {
	return &Error{Reason: wire.ReasonLinkProtocol, Detail: fmt.Sprintf(format, args...)}
}

func tooLarge(format string, args ...any) *Error {
	return &Error{Reason: wire.ReasonFrameTooLarge, Detail: fmt.Sprintf(format, args...)}
}
