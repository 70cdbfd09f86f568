package native

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/ahead"
	"github.com/soulacy/toolcell/backends/native/internal/confine"
	"github.com/soulacy/toolcell/backends/native/internal/rootfs"
	"github.com/soulacy/toolcell/backends/native/internal/wire"
	"github.com/soulacy/toolcell/sandbox"
)

// hook is this process's end of the socket by which an interpreter that waits gets its call (package ahead). A nil hook is
// that of a sandbox without one.
type hook struct {
	ours, theirs *os.File
	// ready is closed when the interpreter says that it waits.
	ready chan struct{}
	// message is the call, for the interpreter. over is closed when it has been taken, or cannot be any more; taken says
	// which.
	message []byte
	over    chan struct{}
	taken   bool
}

// hook is the way to the interpreter that waits in the call's sandbox, or nil.
func (k *call) hook() *hook {
	if k.armed == nil {
		return nil
	}
	return k.armed.hook
}

func newHook() (*hook, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	if err := unix.SetNonblock(pair[0], true); err != nil {
		unix.Close(pair[0])
		unix.Close(pair[1])
		return nil, os.NewSyscallError("fcntl", err)
	}
	h := &hook{
		ours: os.NewFile(uintptr(pair[0]), "hook"), theirs: os.NewFile(uintptr(pair[1]), "hook"),
		ready: make(chan struct{}), over: make(chan struct{}),
	}
	go func() {
		if h.says(ahead.Waits) {
			close(h.ready)
		}
	}()
	return h, nil
}

// says reports whether the next thing that the interpreter says is sign.
func (h *hook) says(sign byte) bool {
	var b [1]byte
	_, err := h.ours.Read(b[:])
	return err == nil && b[0] == sign
}

// waits returns the channel that is closed when the interpreter waits, or one that never is.
func (h *hook) waits() <-chan struct{} {
	if h == nil {
		return nil
	}
	return h.ready
}

// handOver gives the call to the interpreter, and calls then when it is taken.
func (h *hook) handOver(then func()) {
	go func() {
		defer close(h.over)
		if _, err := h.ours.Write(h.message); err != nil {
			return // it has ended, which is told elsewhere
		}
		if h.says(ahead.Goes) {
			h.taken = true
			then()
		}
	}()
}

// applied reports whether the call was taken, when the sandbox has ended. A socket that somebody outside still holds open
// leaves it unknown; the call then counts as taken, since it must not be made twice.
func (h *hook) applied() bool {
	select {
	case <-h.over:
		return h.taken
	case <-time.After(settleGrace):
		return true
	}
}

// sent closes what the interpreter has by now.
func (h *hook) sent() {
	if h != nil {
		h.theirs.Close()
	}
}

func (h *hook) close() {
	if h != nil {
		h.sent()
		h.ours.Close()
	}
}

// openAhead opens what an interpreter that waits has from the start on: its streams and its hook.
func (k *call) openAhead() error {
	if k.armed.kind.start == nil {
		return nil
	}
	k.command = sandbox.Command{Argv: k.armed.kind.start.Argv, Env: k.armed.kind.start.Fixed}
	if k.armed.kind.input {
		k.command.Stdin = strings.NewReader("") // which is never read: the input is the call's
	}
	if err := k.openPipes(); err != nil {
		return err
	}
	var err error
	if k.armed.hook, err = newHook(); err != nil {
		return k.setup("make the way to the interpreter", err)
	}
	return nil
}

// sealAhead puts in the program's place what is known of it.
func (k *call) sealAhead() error {
	if k.armed.kind.start == nil {
		k.files[1] = k.files[0] // there is no program yet, and its place has to be taken
		return nil
	}
	k.chooseProgram()
	k.armed.program = programFile(k.program.Paths)
	k.program.Env = k.armed.kind.start.Environment(k.program.Env, confine.HookFD)
	return k.seal()
}

// address puts the call together for the interpreter that waits for it.
func (k *call) address() error {
	env := environment(k.spec.Identity, k.image, k.profile, k.command)
	var err error
	if k.armed.hook.message, err = ahead.Message(env); err != nil {
		return k.setup("hand over the call", err)
	}
	k.files = nil
	k.stdout.limit, k.stderr.limit = k.profile.Limits.OutputKB<<10, k.profile.Limits.OutputKB<<10
	k.stdout.tap, k.stderr.tap = k.command.Stdout, k.command.Stderr
	return nil
}

// unapplied says of a call that an interpreter was to take whether it can be made again: nothing of the program ran. One
// that ended by itself without taking it is an error of the sandbox's.
func (k *call) unapplied(end ending) (bool, error) {
	r := end.reply
	switch {
	case k.armed.hook.applied(), end.canceled, r.Cause == wire.CauseTimeout, r.Cause == wire.CauseCPU:
		return false, nil
	case r.Exited && syscall.WaitStatus(r.Status).ExitStatus() == ahead.Failed:
		return false, k.setup("hand over the call", errors.New("the interpreter that waited for it could not take it"))
	default:
		return true, nil
	}
}

// doesNotWait says of an interpreter that it ended instead.
func (k *call) doesNotWait(r wire.Reply) error {
	k.stderr.limit = 200 // enough to see what it says
	go k.stderr.run()
	drained(drainGrace, k.stderr)
	text, _ := k.stderr.output()
	return &sandbox.Error{
		Kind: sandbox.KindInvalid, Op: "arm",
		Cause: fmt.Errorf("%s does not wait for its call: it ended with %s %q", k.armed.kind.start.Argv[0], describe(r), text),
		Fix:   "arm without an interpreter",
	}
}

func describe(r wire.Reply) string {
	ws := syscall.WaitStatus(r.Status)
	if ws.Signaled() {
		return unix.SignalName(ws.Signal())
	}
	return fmt.Sprintf("status %d", ws.ExitStatus())
}

// withHook adds an interpreter's hook to an image.
func withHook(shared *rootfs.Image, s *ahead.Start) *rootfs.Image {
	image := *shared
	image.Dirs, image.Files = slices.Clone(image.Dirs), slices.Clone(image.Files)
	files := s.Files()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		image.Dirs = withParents(image.Dirs, path)
		image.Files = append(image.Files, rootfs.File{Path: path, Mode: 0o444, Data: files[path]})
	}
	return &image
}
