package seccomp

import (
	"bytes"
	"embed"
	"fmt"
	"slices"

	"github.com/soulacy/toolcell/seccomp/internal/bpf"
	"github.com/soulacy/toolcell/seccomp/internal/policy"
	"github.com/soulacy/toolcell/seccomp/internal/table"
)

//go:generate go run ./internal/expand
//go:generate go run -tags libseccomp ./compile -o .

//go:embed profile.json
var profile []byte

//go:embed *.bpf
var programs embed.FS

// inotifyRow is a call that stands for the row which Options.Inotify allows.
const inotifyRow = "inotify_init1"

// Options choose among the few things that a profile may ask of the filter. The zero value is the strictest.
type Options struct {
	// Inotify allows the inotify calls, which otherwise fail with ENOSYS. Through inodes that sandboxes share, such
	// as the read-only system files, they show one sandbox which files another one uses.
	Inotify bool
}

// variant names the embedded programs of the options.
func (o Options) variant() string {
	if o.Inotify {
		return "inotify"
	}
	return "default"
}

// File is the name of the embedded program of an architecture, as GOARCH spells it, and options.
func File(goarch string, o Options) string { return o.variant() + "_" + goarch + ".bpf" }

// JSON returns the profile in the format of docker's --security-opt seccomp=FILE. The caller may change the result.
func JSON(o Options) []byte {
	if !o.Inotify {
		return bytes.Clone(profile)
	}
	data, err := withInotify()
	if err != nil {
		// profile.json is part of the binary and a test parses it: this cannot depend on anything at run time.
		panic(err)
	}
	return data
}

func withInotify() ([]byte, error) {
	p, err := policy.Parse(profile)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(p.Syscalls, func(r policy.Row) bool { return slices.Contains(r.Names, inotifyRow) })
	if i < 0 {
		return nil, fmt.Errorf("seccomp profile: no row for %s", inotifyRow)
	}
	p.Syscalls[i].Action, p.Syscalls[i].ErrnoRet = policy.ActAllow, 0
	return p.Encode()
}

// Program returns the native filter for an architecture as GOARCH spells it: an array of struct sock_filter, eight
// bytes an instruction, little-endian as both architectures are. Other architectures than amd64 and arm64 are an
// error: there is no weaker filter to fall back on.
func Program(goarch string, o Options) ([]byte, error) {
	if !slices.Contains(table.Names(), goarch) { // the table itself is not needed, and takes a while to read
		return nil, fmt.Errorf("seccomp program: there is none for architecture %q", goarch)
	}
	raw, err := programs.ReadFile(File(goarch, o))
	if err != nil {
		return nil, fmt.Errorf("seccomp program for %s: %w", goarch, err)
	}
	if _, err := bpf.Decode(raw); err != nil {
		return nil, fmt.Errorf("seccomp program for %s: %w", goarch, err)
	}
	return raw, nil
}

// Dump returns the program of [Program] as text, one instruction a line, with the names of the calls.
func Dump(goarch string, o Options) (string, error) {
	raw, err := Program(goarch, o)
	if err != nil {
		return "", err
	}
	prog, err := bpf.Decode(raw)
	if err != nil {
		return "", fmt.Errorf("dump seccomp program: %w", err)
	}
	arch, err := table.Get(goarch)
	if err != nil {
		return "", fmt.Errorf("dump seccomp program: %w", err)
	}
	var b bytes.Buffer
	err = bpf.Print(&b, prog, arch.Call)
	return b.String(), err
}
