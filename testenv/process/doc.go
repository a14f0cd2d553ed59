// Package process runs real binaries for tests: it builds the product once, starts it with its own folder and
// environment, waits until it is ready, ends it by SIGTERM or SIGKILL, starts it again, and keeps what it printed.
//
// Readiness and ends are conditions waited for under a context, never a time slept through. A process is ended by its
// own id only.
package process
