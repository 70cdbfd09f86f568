package engines

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// contents says what a layer made of busybox has.
type contents struct {
	// programs are the names under which busybox is there; nil means all that it knows.
	programs []string
	users    bool
	tmp      bool
}

var (
	wholeBusybox = contents{users: true, tmp: true}
	noTmp        = contents{users: true}
	echoAlone    = contents{programs: []string{"echo"}}
)

// Files of an image with users.
const (
	passwd = "root:x:0:0:root:/root:/bin/sh\napp:x:1000:1000:app:/home/app:/bin/sh\n"
	group  = "root:x:0:\napp:x:1000:\n"
)

// busybox returns what makes a layer of the host's static busybox.
func busybox(c contents) func() (layer, error) {
	return func() (layer, error) {
		program, err := staticBusybox()
		if err != nil {
			return layer{}, err
		}
		if c.programs == nil {
			if c.programs, err = applets(program); err != nil {
				return layer{}, err
			}
		}
		b, err := busyboxTar(program, c)
		if err != nil {
			return layer{}, err
		}
		sum := sha256.Sum256(b)
		open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }
		return layer{open: open, size: int64(len(b)), digest: hex.EncodeToString(sum[:])}, nil
	}
}

// staticBusybox returns the path of a busybox that needs no file beside it.
func staticBusybox() (string, error) {
	path, err := find("busybox", "busybox-static")
	if err != nil {
		return "", err
	}
	f, err := elf.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return "", fmt.Errorf("%s needs a dynamic linker; a static one (package busybox-static) is %w", path, errMissing)
		}
	}
	return path, nil
}

// applets returns the names of the programs that a busybox is, its own left out.
func applets(busybox string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, busybox, "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("%s --list: %w", busybox, err)
	}
	var names []string
	for _, name := range strings.Fields(string(out)) {
		if name != "busybox" {
			names = append(names, name)
		}
	}
	return names, nil
}

// layerTime is the time of every file, so that the same busybox makes the same image.
var layerTime = time.Unix(0, 0)

func busyboxTar(program string, c contents) ([]byte, error) {
	b, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	first := c.programs[0]
	files := []tar.Header{
		{Name: "bin/", Typeflag: tar.TypeDir, Mode: 0o755},
		{Name: filepath.Join("bin", first), Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(b))},
	}
	text := map[string]string{filepath.Join("bin", first): string(b)}
	for _, name := range c.programs[1:] {
		files = append(files, tar.Header{Name: "bin/" + name, Typeflag: tar.TypeLink, Linkname: "bin/" + first, Mode: 0o755})
	}
	if c.users {
		text["etc/passwd"], text["etc/group"] = passwd, group
		files = append(files, tar.Header{Name: "etc/", Typeflag: tar.TypeDir, Mode: 0o755},
			tar.Header{Name: "etc/passwd", Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(passwd))},
			tar.Header{Name: "etc/group", Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(group))})
	}
	if c.tmp {
		files = append(files, tar.Header{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777})
	}
	return packTar(files, text)
}

// packTar returns the tar of files, whose regular ones hold text.
func packTar(files []tar.Header, text map[string]string) ([]byte, error) {
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	for i := range files {
		files[i].ModTime, files[i].Format = layerTime, tar.FormatPAX
		if err := tw.WriteHeader(&files[i]); err != nil {
			return nil, err
		}
		if _, err := io.WriteString(tw, text[files[i].Name]); err != nil {
			return nil, err
		}
	}
	if err := tw.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
