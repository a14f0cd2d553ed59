package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// BinaryEnv names the environment variable that holds the path of a ready product binary.
const BinaryEnv = "FLEET_BINARY"

// Product is where the main package lies within the module.
const Product = "./cmd/fleet"

// built remembers the one build of this test process. It is a test helper's cache: a build costs seconds and every
// package needs it at most once.
var built struct {
	sync.Mutex
	path string
}

// Binary returns the product's binary: the one BinaryEnv names, or one built into a temporary folder the first time it is
// asked for in this process. Callers that build should call Clean at their end.
func Binary(ctx context.Context) (string, error) {
	if path := os.Getenv(BinaryEnv); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("%s: %w", BinaryEnv, err)
		}
		return filepath.Abs(path)
	}
	built.Lock()
	defer built.Unlock()
	if built.path != "" {
		return built.path, nil
	}
	dir, err := os.MkdirTemp("", "fleet-binary-")
	if err != nil {
		return "", fmt.Errorf("folder for the binary: %w", err)
	}
	path := filepath.Join(dir, "fleet")
	if err := Build(ctx, Product, path); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	built.path = path
	return path, nil
}

// Clean removes what Binary built.
func Clean() error {
	built.Lock()
	defer built.Unlock()
	if built.path == "" {
		return nil
	}
	dir := filepath.Dir(built.path)
	built.path = ""
	return os.RemoveAll(dir)
}

// Build builds one main package of this module, without cgo, into the file out.
func Build(ctx context.Context, pkg, out string) error {
	root, err := ModuleRoot()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", out, pkg)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, text)
	}
	return nil
}

// ModuleRoot is the folder of the module's go.mod, looked for from the working folder upwards.
func ModuleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module fleetrelay\n") {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("no go.mod of this module above the working folder")
		}
		dir = up
	}
}
