package node

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// doorEvery is how often a serving node looks whether its admin socket is still there.
const doorEvery = time.Second

// door is the admin socket of a serving node. Without it the node could not be administered, nor told from a stopped one,
// so it is made again if somebody removes it. Connections that are open go on meanwhile.
type door struct {
	dir     string
	folder  fs.FileInfo // another folder that has taken this one's place belongs to somebody else
	removed func()      // called each time the socket is found missing
	failed  func(error) // called when it cannot be made again, once for each removal
}

// keep serves l, and each socket that takes its place, until the server is shut down, or fails for another reason than a
// missing socket. It does not look after the socket any more once ctx has ended.
func (d door) keep(ctx context.Context, l net.Listener, serve func(net.Listener) error) error {
	for {
		gone, err := d.untilRemoved(ctx, l, serve)
		if !gone {
			return err
		}
		d.removed()
		if l, err = d.again(ctx); err != nil {
			return err
		}
	}
}

// untilRemoved serves one socket; gone says that it ended because its file is missing.
func (d door) untilRemoved(ctx context.Context, l net.Listener, serve func(net.Listener) error) (gone bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	missing := make(chan bool, 1)
	go func() {
		found := d.missing(ctx)
		if found {
			_ = l.Close() // ends serve; nobody can reach it any more
		}
		missing <- found
	}()
	err = serve(l)
	cancel()
	return <-missing, err
}

// missing waits until the socket is gone, which is true, or ctx ends.
func (d door) missing(ctx context.Context) bool {
	look := time.NewTicker(doorEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-look.C:
		}
		if _, err := os.Lstat(filepath.Join(d.dir, AdminSocket)); errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
}

// again makes the socket, as soon as that can be done; http.ErrServerClosed if ctx ended before.
func (d door) again(ctx context.Context) (net.Listener, error) {
	retry := time.NewTicker(doorEvery)
	defer retry.Stop()
	for first := true; ; first = false {
		l, err := d.open()
		if err == nil {
			return l, nil
		}
		if first {
			d.failed(err)
		}
		select {
		case <-ctx.Done():
			return nil, http.ErrServerClosed
		case <-retry.C:
		}
	}
}

var errOtherFolder = errors.New("another folder has taken the place of the node's")

func (d door) open() (net.Listener, error) {
	now, err := os.Stat(d.dir)
	switch {
	case err != nil:
		return nil, err
	case !os.SameFile(now, d.folder):
		return nil, errOtherFolder
	}
	return listenAdmin(d.dir)
}
