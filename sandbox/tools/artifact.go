package tools

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Artifact is one file that code left in its output directory.
type Artifact struct {
	// Name is the path below the output directory, with slashes.
	Name string `json:"name"`
	// Type is the media type, by the content; that of a text also by the name.
	Type string `json:"type"`
	// Size is the size in bytes.
	Size int64 `json:"size"`
	// Data is the content.
	Data []byte `json:"data"`
}

// Image reports whether the artifact is an image that a client can show. An SVG is a document, and no such image.
func (a Artifact) Image() bool { return strings.HasPrefix(a.Type, "image/") && a.Type != svg }

const svg = "image/svg+xml"

// ArtifactLimits bounds what one call brings back. Each field's zero value is its default; a negative one brings back
// nothing.
type ArtifactLimits struct {
	// Files is how many files. 0 means 32.
	Files int
	// FileBytes is the size of one file. 0 means 8 MiB.
	FileBytes int64
	// TotalBytes is the size of all together. 0 means 16 MiB.
	TotalBytes int64
	// DiskBytes is how much the code may have in its output directory before it is ended, brought back or not. 0 means
	// 256 MiB.
	DiskBytes int64
}

func (l ArtifactLimits) withDefaults() ArtifactLimits {
	return ArtifactLimits{
		Files: cmp.Or(l.Files, 32), FileBytes: cmp.Or(l.FileBytes, 8<<20), TotalBytes: cmp.Or(l.TotalBytes, 16<<20),
	}
}

// The walk through an output directory ends here, since a program can make more names than anybody wants to read.
const (
	maxWalk  = 4096
	maxDepth = 16
)

var errEnough = errors.New("enough")

// collect reads the regular files below dir, in lexical order. What it leaves out is in omitted, in words. Links are
// never followed, and nothing outside of dir is opened.
func collect(dir string, limits ArtifactLimits) (found []Artifact, omitted []string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("open the output directory: %w", err)
	}
	defer root.Close()
	c := collector{root: root, left: limits.withDefaults()}
	err = walker{most: maxWalk, depth: maxDepth, visit: c.visit}.walk(root, ".", nil)
	if err != nil && !errors.Is(err, errEnough) {
		return nil, nil, fmt.Errorf("read the output directory: %w", err)
	}
	return c.found, c.omitted, nil
}

type collector struct {
	root    *os.Root
	left    ArtifactLimits
	walked  int
	found   []Artifact
	omitted []string
}

func (c *collector) visit(name string, d fs.DirEntry, err error) error {
	if c.walked++; c.walked > maxWalk {
		c.omitted = append(c.omitted, fmt.Sprintf("everything after %d names", maxWalk))
		return errEnough
	}
	switch {
	case err != nil && name == ".":
		return err
	case errors.Is(err, errTooDeep):
		c.omit(name, err.Error())
	case err != nil: // the program may leave a directory that cannot be read
		c.omit(name, "it cannot be read")
	case d.IsDir():
	case !d.Type().IsRegular():
		c.omit(name, errNotRegular.Error())
	default:
		c.take(name)
	}
	return nil
}

// maxOmitted bounds how many names are spelled out.
const maxOmitted = 32

func (c *collector) omit(name, why string) {
	if len(c.omitted) < maxOmitted {
		c.omitted = append(c.omitted, plainName(name)+": "+why)
	}
}

func (c *collector) take(name string) {
	if c.left.Files <= 0 {
		c.omit(name, "there are too many files")
		return
	}
	data, why := c.read(name)
	if why != "" {
		c.omit(name, why)
		return
	}
	c.left.Files--
	c.left.TotalBytes -= int64(len(data))
	c.found = append(c.found, Artifact{Name: name, Type: mediaType(name, data), Size: int64(len(data)), Data: data})
}

// read returns a file's content, or why it is left out.
func (c *collector) read(name string) (data []byte, why string) {
	f, info, err := openRegular(c.root, name)
	if err != nil {
		return nil, "it cannot be read"
	}
	defer f.Close()
	switch size := info.Size(); {
	case size > c.left.FileBytes:
		return nil, fmt.Sprintf("%d bytes are too large", size)
	case size > c.left.TotalBytes:
		return nil, "all files together are too large"
	}
	data, err = io.ReadAll(io.LimitReader(f, info.Size()))
	if err != nil {
		return nil, "it cannot be read"
	}
	return data, ""
}

// mediaType is the type of a file: of an image by its content alone, of text by its name, since a name is all that tells
// CSV from JSON.
func mediaType(name string, data []byte) string {
	sniffed := sniff(data)
	if sniffed != plainText {
		return sniffed
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".csv":
		return "text/csv"
	case ".json":
		return "application/json"
	case ".md":
		return "text/markdown"
	case ".html", ".htm":
		return "text/html"
	case ".svg":
		return svg
	case ".xml":
		return "application/xml"
	default:
		return plainText
	}
}
