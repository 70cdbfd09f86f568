package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/soulacy/toolcell/sandbox"
)

// image is what an image asks of a container, as far as it has to be overridden.
type image struct {
	ID     string `json:"Id"`
	Config struct {
		User    string
		Env     []string
		Volumes map[string]struct{}
	}
}

// volumes are the paths that the image declares as volumes.
func (i *image) volumes() []string { return slices.Sorted(maps.Keys(i.Config.Volumes)) }

// overridden are the image's volumes that have to be replaced: those that no mount of the sandbox's own covers. A path that
// an engine's command line would read as something else, or that lies where a mount would be made inside a declared one,
// is refused.
func (i *image) overridden(p sandbox.ContainerProfile) ([]string, error) {
	refuse := func(v, cause string) error {
		return &sandbox.Error{Kind: sandbox.KindRefused, Op: fmt.Sprintf("the image's volume %q", v), Guarantee: sandbox.FSDeclaredWrites, Cause: errors.New(cause), Fix: "use another image"}
	}
	var out []string
	for _, v := range i.volumes() {
		if v == "/tmp" || v == "/dev/shm" || v == messageQueues || slices.ContainsFunc(p.Binds, func(m sandbox.Mount) bool { return m.Target == v }) {
			continue
		}
		if !path.IsAbs(v) || path.Clean(v) != v || v == "/" || strings.ContainsFunc(v, func(r rune) bool { return r == ':' || r == ',' || unicode.IsControl(r) }) {
			return nil, refuse(v, "its path cannot be replaced on a command line")
		}
		for _, m := range p.Binds {
			if strings.HasPrefix(v, m.Target+"/") {
				return nil, refuse(v, fmt.Sprintf("it lies inside the mount at %q", m.Target))
			}
		}
		out = append(out, v)
	}
	return out, nil
}

// inspectImage asks for an image that is there already. Nothing is ever fetched here.
func inspectImage(ctx context.Context, c Client, name string) (*image, error) {
	out, err := output(ctx, c, "image", "inspect", name)
	if err != nil {
		return nil, err
	}
	return readImage(out)
}

func readImage(out []byte) (*image, error) {
	var found []image
	if err := json.Unmarshal(out, &found); err != nil {
		return nil, fmt.Errorf("read the image's description: %w", err)
	}
	if len(found) != 1 || found[0].ID == "" {
		return nil, fmt.Errorf("%d images have this name", len(found))
	}
	return &found[0], nil
}

// imageError says why an image cannot be used: it is not there, unless the engine itself is not.
func (b *Backend) imageError(ctx context.Context, name string, err error) error {
	b.engines.forget()
	if _, probeErr := b.engines.get(ctx, b.client); probeErr != nil {
		return probeErr
	}
	var failed *commandError
	if !errors.As(err, &failed) {
		return &sandbox.Error{Kind: sandbox.KindUnavailable, Op: fmt.Sprintf("look at the image %q", name), Cause: err}
	}
	fix := "fetch it before the call with Prepare (toolcell doctor says how), or name one that is there; a call never fetches anything"
	if name == sandbox.ImageHost { // though an engine may have one of the name
		fix = `this machine's own programs are the native backend's "host": use that backend, or name an image that the engine has`
	}
	return &sandbox.Error{
		Kind: sandbox.KindUnavailable, Op: fmt.Sprintf("find the image %q", name), Cause: fmt.Errorf("the engine does not have it: %w", err), Fix: fix,
	}
}

// image returns what is known of an image. What was found once is believed: a container made from another is noticed,
// since its image is compared.
func (b *Backend) image(ctx context.Context, name string) (*image, error) {
	b.mu.Lock()
	found := b.images[name]
	b.mu.Unlock()
	if found != nil {
		return found, nil
	}
	ctx, cancel := bounded(ctx, b.engines.bound())
	defer cancel()
	found, err := inspectImage(ctx, b.client, name)
	if err != nil {
		return nil, b.imageError(context.WithoutCancel(ctx), name, err)
	}
	b.mu.Lock()
	b.images[name] = found
	b.mu.Unlock()
	return found, nil
}

// sameImage asks whether an image is still the one of its name; what has changed is forgotten.
func (b *Backend) sameImage(ctx context.Context, name, id string) bool {
	ctx, cancel := bounded(ctx, b.engines.bound())
	defer cancel()
	out, err := b.dial.image(ctx, name)
	if err != nil {
		out, err = output(ctx, b.client, "image", "inspect", name)
	}
	if err == nil {
		var i *image
		if i, err = readImage(out); err == nil && i.ID == id {
			return true
		}
	}
	b.forgetImage(name)
	return false
}

func (b *Backend) forgetImage(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.images, name)
}
