package engines

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime"
)

// layer is a layer of an image: an uncompressed tar.
type layer struct {
	open func() (io.ReadCloser, error)
	size int64
	// digest is its sha256, in hexadecimal.
	digest string
}

// imageConfig is what an image says about how to run it, in the words of the OCI image specification (config.md) and, for
// Healthcheck and OnBuild, of Docker's.
type imageConfig struct {
	User        string              `json:",omitempty"`
	Env         []string            `json:",omitempty"`
	Entrypoint  []string            `json:",omitempty"`
	Cmd         []string            `json:",omitempty"`
	Volumes     map[string]struct{} `json:",omitempty"`
	OnBuild     []string            `json:",omitempty"`
	Healthcheck *healthcheck        `json:",omitempty"`
}

// healthcheck is a HEALTHCHECK instruction. Times are in nanoseconds.
type healthcheck struct {
	Test              []string
	Interval, Timeout int64
}

// rootfs lists an image's layers by the digests of their tars.
type rootfs struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

// description is the image's configuration file.
type description struct {
	Architecture string      `json:"architecture"`
	OS           string      `json:"os"`
	Config       imageConfig `json:"config"`
	RootFS       rootfs      `json:"rootfs"`
}

// entry is the one element of an archive's manifest.json.
type entry struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// file is the layer's name in the archive.
func (l layer) file() string { return l.digest + ".tar" }

// writeArchive writes i with its layers, the lowest first, as docker save would, which is what every engine's load reads.
func writeArchive(w io.Writer, i Image, layers []layer) error {
	root, e := rootfs{Type: "layers"}, entry{RepoTags: []string{i.Name + ":latest"}}
	for _, l := range layers {
		root.DiffIDs = append(root.DiffIDs, "sha256:"+l.digest)
		e.Layers = append(e.Layers, l.file())
	}
	config, err := json.Marshal(description{Architecture: runtime.GOARCH, OS: "linux", Config: i.config, RootFS: root})
	if err != nil {
		return err
	}
	sum := sha256.Sum256(config)
	e.Config = hex.EncodeToString(sum[:]) + ".json"
	manifest, err := json.Marshal([]entry{e})
	if err != nil {
		return err
	}
	tw := tar.NewWriter(w)
	if err := errors.Join(writeFile(tw, e.Config, config), writeFile(tw, "manifest.json", manifest)); err != nil {
		return err
	}
	for _, l := range layers {
		if err := writeLayer(tw, l); err != nil {
			return err
		}
	}
	return tw.Close()
}

func writeFile(tw *tar.Writer, name string, b []byte) error {
	if err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(b))}); err != nil {
		return err
	}
	_, err := tw.Write(b)
	return err
}

func writeLayer(tw *tar.Writer, l layer) error {
	r, err := l.open()
	if err != nil {
		return err
	}
	defer r.Close()
	if err := tw.WriteHeader(&tar.Header{Name: l.file(), Mode: 0o644, Size: l.size}); err != nil {
		return err
	}
	_, err = io.Copy(tw, r)
	return err
}

// fileLayer is the layer in the tar at path.
func fileLayer(path string) (layer, error) {
	f, err := os.Open(path)
	if err != nil {
		return layer{}, err
	}
	defer f.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, f)
	if err != nil {
		return layer{}, err
	}
	open := func() (io.ReadCloser, error) { return os.Open(path) }
	return layer{open: open, size: size, digest: hex.EncodeToString(sum.Sum(nil))}, nil
}
