package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"time"

	"github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"
)

// scopeWait bounds a talk with systemd.
const scopeWait = 10 * time.Second

// scoper is what the manager asks of systemd; tests put something else in its place.
type scoper interface {
	// askable reports whether a systemd that may make scopes answers.
	askable() error
	// scope is [Scope].
	scope(ctx context.Context, pid int) (path string, err error)
	// attach moves a process into a group below a scope.
	attach(ctx context.Context, to scopeGroup, pid int) error
}

// scopeGroup is a directory below a scope.
type scopeGroup struct{ unit, sub string }

// systemd is the real one.
type systemd struct{}

var errNotMoved = errors.New("systemd answered and the process is not in the scope (another pid namespace?)")

func scopeContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), scopeWait)
}

// Scope asks systemd for a transient scope with delegated controllers around process pid, and returns its path in the
// v2 hierarchy as /proc/PID/cgroup shows it. Root asks the system's manager, anybody else the user's own. systemd
// removes the scope when its last process has ended. The caller of Scope is not moved.
func Scope(ctx context.Context, pid int) (path string, err error) {
	conn, err := dial(ctx)
	if err != nil {
		return "", fmt.Errorf("scope: connect to systemd: %w", err)
	}
	defer conn.Close()
	unit := newName() + ".scope"
	if err := start(ctx, conn, unit, pid); err != nil {
		return "", fmt.Errorf("scope %s: %w", unit, err)
	}
	if path, err = whereIs(pid, unit); err != nil {
		return "", fmt.Errorf("scope %s: %w", unit, err)
	}
	return path, nil
}

// start starts the unit and waits for the job's end.
func start(ctx context.Context, conn *dbus.Conn, unit string, pid int) error {
	done := make(chan string, 1)
	_, err := conn.StartTransientUnitContext(ctx, unit, "fail", scopeProperties(pid), done)
	if err != nil {
		return err
	}
	select {
	case result := <-done:
		if result != "done" {
			return fmt.Errorf("job ended as %q", result)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func scopeProperties(pid int) []dbus.Property {
	return []dbus.Property{
		dbus.PropDescription("toolcell sandboxes"),
		dbus.PropPids(uint32(pid)),
		{Name: "Delegate", Value: godbus.MakeVariant(true)},
		{Name: "CollectMode", Value: godbus.MakeVariant("inactive-or-failed")},
	}
}

// whereIs returns the process's v2 cgroup, which has to be the unit's.
func whereIs(pid int, unit string) (string, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return "", err
	}
	members, err := parseMemberships(string(text))
	if err != nil {
		return "", err
	}
	for _, m := range members {
		if m.v2 && path.Base(m.path) == unit {
			return m.path, nil
		}
	}
	return "", errNotMoved
}

func (systemd) scope(ctx context.Context, pid int) (string, error) { return Scope(ctx, pid) }

// attach is needed where the process's present cgroup and the scope have no common parent that the caller may write.
func (systemd) attach(ctx context.Context, to scopeGroup, pid int) error {
	conn, err := dial(ctx)
	if err != nil {
		return fmt.Errorf("attach to %s: connect to systemd: %w", to.unit, err)
	}
	defer conn.Close()
	if err := conn.AttachProcessesToUnit(ctx, to.unit, "/"+to.sub, []uint32{uint32(pid)}); err != nil {
		return fmt.Errorf("attach to %s: %w", to.unit, err)
	}
	return nil
}

func (systemd) askable() error {
	ctx, cancel := scopeContext()
	defer cancel()
	conn, err := dial(ctx)
	if err != nil {
		return err
	}
	conn.Close()
	return nil
}

// dial connects to the manager's own socket or, for a user, the bus of the session. The addresses are systemd's fixed
// ones (pam_systemd(8), systemd.special(7)): the client library's search may start a bus, and reads an environment that
// the caller may have inherited from somebody else.
func dial(ctx context.Context) (*dbus.Conn, error) {
	if os.Geteuid() == 0 {
		return dbus.NewSystemdConnectionContext(ctx)
	}
	address := "unix:path=/run/user/" + strconv.Itoa(os.Geteuid()) + "/bus"
	return dbus.NewConnection(func() (*godbus.Conn, error) { return hello(ctx, address) })
}

// hello connects and authenticates by uid.
func hello(ctx context.Context, address string) (*godbus.Conn, error) {
	conn, err := godbus.Dial(address, godbus.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	err = conn.Auth([]godbus.Auth{godbus.AuthExternal(strconv.Itoa(os.Geteuid()))})
	if err == nil {
		err = conn.Hello()
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}
