package engines

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// Image is an image that this package can give an engine.
type Image struct {
	// Name is its name in every engine.
	Name string

	layers []func() (layer, error)
	config imageConfig
}

// path is the PATH of every image.
var path = []string{"PATH=/usr/local/bin:/usr/bin:/bin"}

// Busybox has a static busybox under the names of all its programs, users root and app (1000), and /tmp.
func Busybox() Image {
	return Image{Name: "toolcell-busybox", layers: only(busybox(wholeBusybox)), config: imageConfig{Env: path}}
}

func only(l func() (layer, error)) []func() (layer, error) { return []func() (layer, error){l} }

// Python has Debian's libraries, coreutils, /bin/sh and /usr/bin/python3.
func Python() Image {
	return Image{Name: "toolcell-python", layers: only(debian(pythonPart)), config: imageConfig{Env: path}}
}

// Languages has what Python has and, in a second layer, /bin/bash and /usr/bin/node.
func Languages() Image {
	i := Python()
	i.Name, i.layers = "toolcell-languages", append(i.layers, debian(languagesPart))
	return i
}

// Entrypoint has an ENTRYPOINT that prints its arguments in place of running them.
func Entrypoint() Image {
	i := Busybox()
	i.Name, i.config.Entrypoint = "toolcell-entrypoint", []string{"/bin/echo", "entrypoint"}
	return i
}

// Volume has a VOLUME /data, which an engine fills with an anonymous volume unless something is mounted there.
func Volume() Image {
	i := Busybox()
	i.Name, i.config.Volumes = "toolcell-volume", map[string]struct{}{"/data": {}}
	return i
}

// NamedUser has USER app, which is 1000:1000 in its own /etc/passwd.
func NamedUser() Image {
	i := Busybox()
	i.Name, i.config.User = "toolcell-user", "app"
	return i
}

// OnBuild has an ONBUILD instruction, which means something to a build alone.
func OnBuild() Image {
	i := Busybox()
	i.Name, i.config.OnBuild = "toolcell-onbuild", []string{"RUN touch /onbuild"}
	return i
}

// Healthcheck has a HEALTHCHECK that runs every second, as a process inside the container.
func Healthcheck() Image {
	const second = 1_000_000_000
	i := Busybox()
	i.Name = "toolcell-healthcheck"
	i.config.Healthcheck = &healthcheck{Test: []string{"CMD", "/bin/touch", "/tmp/healthy"}, Interval: second, Timeout: second}
	return i
}

// NoTmp has no /tmp.
func NoTmp() Image {
	return Image{Name: "toolcell-notmp", layers: only(busybox(noTmp)), config: imageConfig{Env: path}}
}

// NoShell has one program, /bin/echo, and no /etc/passwd.
func NoShell() Image {
	return Image{Name: "toolcell-noshell", layers: only(busybox(echoAlone)), config: imageConfig{Env: path}}
}

// Load gives the engine the image, once, and returns its name.
func (e *Engine) Load(t testing.TB, i Image) string {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.loaded[i.Name] {
		require.NoError(t, e.load(i), "load %s into %s", i.Name, e.Kind)
		e.loaded = put(e.loaded, i.Name, true)
	}
	return i.Name
}

// Reload gives the engine an image that a test has removed.
func (e *Engine) Reload(t testing.TB, i Image) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	require.NoError(t, e.load(i), "load %s into %s", i.Name, e.Kind)
}

// tars makes the layers.
func (i Image) tars() ([]layer, error) {
	var ls []layer
	for _, f := range i.layers {
		l, err := f()
		if err != nil {
			return nil, err
		}
		ls = append(ls, l)
	}
	return ls, nil
}

// load streams the archive of i to the engine's load command.
func (e *Engine) load(i Image) error {
	ls, err := i.tars()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), clientTimeout)
	defer cancel()
	r, w := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := writeArchive(w, i, ls)
		written <- err
		w.CloseWithError(err)
	}()
	cmd := e.Command(ctx, "load")
	cmd.Stdin = r
	out, err := cmd.CombinedOutput()
	r.CloseWithError(io.ErrClosedPipe)
	if err != nil {
		return fmt.Errorf("%w: %s (archive: %v)", err, out, <-written)
	}
	return <-written
}
