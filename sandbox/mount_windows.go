package sandbox

import (
	"os"
	"path/filepath"
	"strings"
)

// cutSource splits "source:rest" at the first colon that does not belong to a drive letter.
func cutSource(s string) (source, rest string, ok bool) {
	drive := len(filepath.VolumeName(s))
	source, rest, ok = strings.Cut(s[drive:], ":")
	return s[:drive] + source, rest, ok
}

// tidySource returns the shortest form of a host path, but leaves one with ".." alone, so that Validate refuses it.
func tidySource(p string) string {
	for _, name := range strings.FieldsFunc(p, func(r rune) bool { return r == '/' || r == '\\' }) {
		if name == ".." {
			return p
		}
	}
	return filepath.Clean(p)
}

// checkSourceForm checks what does not depend on where the source is.
func checkSourceForm(op, source string) error {
	if !filepath.IsAbs(source) {
		return invalidMount(op, "the source is not an absolute path", "give the path from the drive; named volumes are not supported")
	}
	if filepath.Clean(source) != source {
		return Invalid(op, "the source is not in its shortest form")
	}
	if v := filepath.VolumeName(source); len(v) != 2 {
		return Invalid(op, "the source is not on a drive with a letter")
	}
	if strings.Contains(source[2:], ":") {
		return Invalid(op, "the source names a stream of a file")
	}
	return nil
}

// forbiddenSources lists what no sandbox may see. Names are compared by identity as well, so their case is no matter.
func forbiddenSources() []place {
	system := os.Getenv("SystemDrive")
	if system == "" {
		system = "C:"
	}
	var places []place
	for letter := 'A'; letter <= 'Z'; letter++ {
		places = append(places, place{path: string(letter) + `:\`, why: "a whole drive"})
	}
	for _, name := range []string{"Windows", "Program Files", "Program Files (x86)", "ProgramData"} {
		places = append(places, place{path: system + `\` + name, below: true, why: "in " + name + ", the system's own"})
	}
	return append(places, place{path: system + `\Users`, why: "everyone's home directories"})
}

// homes returns the home directories of this host that exist.
func homes() []string {
	var out []string
	if h, err := os.UserHomeDir(); err == nil {
		out = append(out, h)
		siblings, err := os.ReadDir(filepath.Dir(h))
		if err != nil {
			return out
		}
		for _, s := range siblings {
			if s.IsDir() {
				out = append(out, filepath.Join(filepath.Dir(h), s.Name()))
			}
		}
	}
	return out
}

// controlSockets returns what this process's environment names: engines listen on named pipes here, which are no
// files and in no mount.
func controlSockets() []string { return environmentSockets() }
