package rootfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// Host returns this machine's own programs as an image: /usr and what belongs to it (whether /bin, /sbin and /lib are
// links or directories of their own), and the parts of /etc that programs, not services or people, read. /opt, /srv,
// /var, /home and /root are not in it.
func Host() (Image, error) { return host("/") }

func host(root string) (Image, error) {
	t, err := openTree(root)
	if err != nil {
		return Image{}, fmt.Errorf("host image: %w", err)
	}
	defer t.Close()
	b, err := newBuilder(t, "host")
	if err != nil {
		return Image{}, fmt.Errorf("host image: %w", err)
	}
	b.host = true
	for _, p := range programDirs {
		if err := b.program(p); err != nil {
			return Image{}, fmt.Errorf("host image: %s: %w", p, err)
		}
	}
	pieces, err := b.configuration()
	if err != nil {
		return Image{}, fmt.Errorf("host image: %w", err)
	}
	for _, p := range pieces {
		if err := b.piece(p); err != nil {
			return Image{}, fmt.Errorf("host image: %s: %w", p, err)
		}
	}
	b.img.Dirs = append(b.img.Dirs, "/run", "/var")
	b.img.Links = append(b.img.Links, Link{Path: "/var/tmp", Target: "../tmp"})
	img, err := b.finish()
	if err != nil {
		return Image{}, fmt.Errorf("host image: %w", err)
	}
	return img, nil
}

// programDirs hold programs and libraries. /usr comes first: the others may be links into it.
var programDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// configuration lists what programs read of /etc. Left out on purpose is whatever may hold a password or a token (pip,
// npm, git, Maven, PHP, krb5), tells the machine from others (machine-id), or makes sense only to a person at a
// terminal, a service or a package manager.
var configuration = []string{
	// The dynamic loader. Never ld.so.preload.
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
	// Which program is meant by a name.
	"/etc/alternatives",
	// Certificates and the settings of TLS libraries, of Debian, Fedora, Arch, SUSE and Alpine. Never the private
	// directories beside them.
	"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem", "/etc/ssl/ct_log_list.cnf",
	"/etc/pki/ca-trust/extracted", "/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf",
	"/etc/pki/tls/ct_log_list.cnf", "/etc/pki/java", "/etc/ca-certificates/extracted", "/etc/crypto-policies", "/etc/gnutls",
	// Time, and what system this is.
	"/etc/localtime", "/etc/timezone", "/etc/os-release",
	// Small data bases.
	"/etc/protocols", "/etc/services", "/etc/mime.types",
	// Configuration without which an interpreter or a tool does not start or misses a part of itself.
	"/etc/java*", "/etc/jvm*", "/etc/python[23].*", "/etc/R", "/etc/mono", "/etc/julia", "/etc/texmf",
	"/etc/fonts", "/etc/ImageMagick-*", "/etc/libreoffice",
}

// program adds one of programDirs. A link stays a link when it leads to a part that is there already; one that leads
// elsewhere is bound in its place.
func (b *builder) program(p string) error {
	info, err := b.lstat(p)
	if isNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	real, target, err := b.resolve(p)
	if err != nil {
		return err
	}
	if info.Mode().Type() == fs.ModeSymlink && b.img.Resolves(real) {
		return b.link(p)
	}
	if !target.IsDir() {
		return fmt.Errorf("%q is no directory", b.outside(real))
	}
	return b.bind(p, real, target, true)
}

// configuration returns the paths that the list of that name means in this tree. Only names in /etc are patterns.
func (b *builder) configuration() ([]string, error) {
	inEtc, err := b.entries("/etc")
	if err != nil && !isNotExist(err) {
		return nil, err
	}
	var out []string
	for _, pattern := range configuration {
		if !strings.ContainsAny(pattern, "*[") {
			out = append(out, pattern)
			continue
		}
		for _, p := range inEtc {
			ok, err := path.Match(pattern, p)
			if err != nil {
				return nil, err
			}
			if ok {
				out = append(out, p)
			}
		}
	}
	return out, nil
}

// piece adds one file, link or directory of /etc, if everybody may read it.
func (b *builder) piece(p string) error {
	info, err := b.lstat(p)
	if isNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	real, target, err := b.resolve(p)
	if isNotExist(err) {
		return nil // A dangling link.
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() == fs.ModeSymlink && b.img.Resolves(real) {
		return b.link(p)
	}
	public, err := b.openToAll(real, target)
	if err != nil || !public {
		return err
	}
	switch {
	case target.Mode().IsRegular():
		return b.copyOrBind(p, real, target)
	case target.IsDir():
		return b.directory(p, real, target)
	}
	return nil
}

// directory adds a directory of /etc. It is bound when everybody may read all of it; otherwise, and when it is tiny,
// its public files are copied.
func (b *builder) directory(p, real string, info status) error {
	s := search{builder: b}
	if err := s.walk(real); err != nil {
		return err
	}
	switch {
	case s.files == 0 || s.seen > maxSearch:
		return nil // Nothing to show, or more than can be vouched for.
	case s.private || s.seen <= copyBelow:
		return b.copyPublic(p, real)
	default:
		return b.bind(p, real, info, false)
	}
}

// search looks for what not everybody may read.
type search struct {
	*builder
	seen, files int
	private     bool
}

func (s *search) walk(dir string) error {
	fd, err := s.open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, unix.RESOLVE_IN_ROOT)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	err = eachEntry(fd, dir, func(e dirent) error {
		if s.seen++; s.seen > maxSearch {
			return errEnough
		}
		return s.entry(fd, dir, e)
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

var errEnough = errors.New("more entries than are looked at")

func (s *search) entry(fd int, dir string, e dirent) error {
	if e.kind == unix.DT_LNK {
		s.files++
		return nil
	}
	name := string(e.name)
	var st unix.Stat_t
	if err := restart(func() error { return unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) }); err != nil {
		return &fs.PathError{Op: "stat", Path: path.Join(dir, name), Err: err}
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		if st.Mode&0o005 == 0o005 {
			return s.walk(path.Join(dir, name))
		}
		s.private = true
	case unix.S_IFREG:
		s.files++
		s.private = s.private || st.Mode&0o004 == 0
	case unix.S_IFLNK:
		s.files++
	default:
		s.private = true
	}
	return nil
}

// copyPublic copies the files of a directory that everybody may read, and its links.
func (b *builder) copyPublic(target, dir string) error {
	all, err := b.entries(dir)
	if err != nil {
		return err
	}
	for _, p := range all {
		info, err := b.lstat(p)
		if err != nil {
			return err
		}
		to := path.Join(target, path.Base(p))
		switch mode := info.Mode(); {
		case mode.IsDir() && mode&0o005 == 0o005:
			err = b.copyPublic(to, p)
		case mode.IsRegular() && mode&0o004 != 0:
			err = b.copyOrBind(to, p, info)
		case mode.Type() == fs.ModeSymlink:
			err = b.linkAs(to, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
