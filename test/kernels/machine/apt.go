package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The suites that kernels and roots come from, and the key that signs them, of the package debian-archive-keyring.
const (
	suite     = "bookworm"
	backports = "bookworm-backports"
	keyring   = "/usr/share/keyrings/debian-archive-keyring.gpg"
)

// apt is a private configuration of apt: the suites above from where this machine's apt gets the first of them, with
// lists and a cache of its own.
type apt struct{ conf string }

// apt makes the configuration and fetches the lists, once a run.
func (c *Cache) apt(ctx context.Context) (*apt, error) {
	mirror, err := mirrorOf(ctx)
	if err != nil {
		return nil, err
	}
	dir := c.Path("apt")
	a := &apt{conf: filepath.Join(dir, "apt.conf")}
	for _, d := range []string{"lists/partial", "archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "sources.list"), []byte(sources(mirror)), 0o644),
		os.WriteFile(a.conf, []byte(configuration(dir)), 0o644),
	); err != nil {
		return nil, err
	}
	_, err = a.get(ctx, "update")
	return a, err
}

func sources(mirror string) string {
	var b strings.Builder
	for _, s := range []string{suite, backports} {
		fmt.Fprintf(&b, "deb [signed-by=%s] %s %s main\n", keyring, mirror, s)
	}
	return b.String()
}

func configuration(dir string) string {
	return fmt.Sprintf("Dir::Etc::SourceList %q;\nDir::Etc::SourceParts \"/dev/null\";\nDir::State::Lists %q;\nDir::Cache::Archives %q;\n"+
		"Dir::Cache::PkgCache \"\";\nDir::Cache::SrcPkgCache \"\";\nAPT::Sandbox::User \"root\";\nAPT::Architecture \"amd64\";\n",
		filepath.Join(dir, "sources.list"), filepath.Join(dir, "lists"), filepath.Join(dir, "archives"))
}

// get runs apt-get with the private configuration.
func (a *apt) get(ctx context.Context, args ...string) (string, error) {
	return output(ctx, append([]string{"env", "APT_CONFIG=" + a.conf, "apt-get", "-q"}, args...)...)
}

// mirrorOf returns where this machine's apt gets the suite from.
func mirrorOf(ctx context.Context) (string, error) {
	out, err := output(ctx, "apt-get", "indextargets", "--format", "$(RELEASE) $(REPO_URI)", "Created-By: Packages", "Component: main")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == suite {
			return f[1], nil
		}
	}
	return "", fmt.Errorf("this machine's apt has no source for Debian's suite %s", suite)
}

// unpack downloads a package and unpacks it.
func (a *apt) unpack(ctx context.Context, name, from, at string) error {
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	if _, err := output(ctx, "env", "-C", at, "APT_CONFIG="+a.conf, "apt-get", "-q", "download", name+"/"+from); err != nil {
		return err
	}
	debs, err := filepath.Glob(filepath.Join(at, "*.deb"))
	if err != nil || len(debs) != 1 {
		return fmt.Errorf("download %s: got %q", name, debs)
	}
	if _, err := output(ctx, "dpkg-deb", "-x", debs[0], at); err != nil {
		return err
	}
	return os.Remove(debs[0])
}

// dependency returns the package that a meta package of a suite stands for.
func (a *apt) dependency(ctx context.Context, meta, from string) (string, error) {
	out, err := output(ctx, "env", "APT_CONFIG="+a.conf, "apt-cache", "show", meta+"/"+from)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(out) {
		if depends, ok := strings.CutPrefix(line, "Depends: "); ok {
			first, _, _ := strings.Cut(strings.TrimSpace(depends), ",")
			name, _, _ := strings.Cut(first, " ")
			return name, nil
		}
	}
	return "", fmt.Errorf("%s of %s depends on nothing", meta, from)
}
