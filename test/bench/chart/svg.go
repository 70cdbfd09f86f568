package chart

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// Kind says how something is coloured.
type Kind int

// The kinds.
const (
	// Peer is what is compared with.
	Peer Kind = iota
	// Ours is what the picture is about.
	Ours
	// Reference is what everything is measured against.
	Reference
)

func (k Kind) class() string { return [...]string{"peer", "ours", "ref"}[k] }

const style = `<style>
text{font:13px system-ui,sans-serif;fill:#1f2328}.title{font-weight:600;font-size:15px}.soft{fill:#59636e;font-size:12px}
.bg{fill:#fff}.grid{stroke:#d1d9e0}.whisker,.line{fill:none;stroke-width:2}
.ours{fill:#0969da;stroke:#0969da}.peer{fill:#8c959f;stroke:#8c959f}.ref{fill:#1a7f37;stroke:#1a7f37}
text.ours,text.peer,text.ref{stroke:none}text.peer{fill:#59636e}rect.ours,rect.peer,rect.ref{stroke:none}.line,.whisker{fill:none}
@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.soft,text.peer{fill:#9198a1}.bg{fill:#0d1117}.grid{stroke:#3d444d}
.ours{fill:#4493f8;stroke:#4493f8}.peer{fill:#6e7681;stroke:#6e7681}.ref{fill:#3fb950;stroke:#3fb950}.line,.whisker{fill:none}}
</style>
`

// drawing is a picture that grows.
type drawing struct{ b strings.Builder }

// newDrawing begins a picture with its title and a softer line below it. description is for those who cannot see it.
func newDrawing(width, height int, title, subtitle string) *drawing {
	d := &drawing{}
	fmt.Fprintf(&d.b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" role=\"img\" aria-label=\"%s\">\n%s",
		width, height, width, html.EscapeString(title), style)
	fmt.Fprintf(&d.b, "<rect class=\"bg\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n", width, height)
	d.text(16, 26, "title", title)
	d.text(16, 44, "soft", subtitle)
	return d
}

func (d *drawing) end() string {
	d.b.WriteString("</svg>\n")
	return d.b.String()
}

func (d *drawing) text(x, y float64, class, s string) { d.anchored(x, y, class, "start", s) }

// anchored writes text that begins, has its middle or ends at x.
func (d *drawing) anchored(x, y float64, class, anchor, s string) {
	fmt.Fprintf(&d.b, "<text x=\"%s\" y=\"%s\" class=\"%s\" text-anchor=\"%s\">%s</text>\n", number(x), number(y), class, anchor, html.EscapeString(s))
}

func (d *drawing) line(class string, from, to point) {
	fmt.Fprintf(&d.b, "<line class=\"%s\" x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\"/>\n", class, number(from.x), number(from.y), number(to.x), number(to.y))
}

func (d *drawing) path(class string, points []point) {
	var s strings.Builder
	for i, p := range points {
		s.WriteString(map[bool]string{true: "M", false: "L"}[i == 0] + number(p.x) + " " + number(p.y))
	}
	fmt.Fprintf(&d.b, "<path class=\"line %s\" d=\"%s\"/>\n", class, s.String())
}

func (d *drawing) dot(class string, p point) {
	fmt.Fprintf(&d.b, "<circle class=\"%s\" cx=\"%s\" cy=\"%s\" r=\"3\"/>\n", class, number(p.x), number(p.y))
}

type point struct{ x, y float64 }

// number writes a coordinate with a tenth of a pixel.
func number(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// figure writes a value with three digits.
func figure(v float64) string {
	switch {
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// scale maps values to pixels by their logarithm: what is compared here differs by factors.
type scale struct {
	low, high float64 // values
	from, to  float64 // pixels
}

// newScale spans all values, from one power of ten to another.
func newScale(values []float64, from, to float64) scale {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v > 0 {
			low, high = min(low, v), max(high, v)
		}
	}
	if low > high {
		low, high = 1, 10
	}
	s := scale{low: math.Pow(10, math.Floor(math.Log10(low))), high: math.Pow(10, math.Ceil(math.Log10(high))), from: from, to: to}
	if s.low == s.high {
		s.high *= 10
	}
	return s
}

// at returns the place of a value; one of 0 or less has that of the lowest.
func (s scale) at(v float64) float64 {
	part := math.Log10(max(v, s.low)/s.low) / math.Log10(s.high/s.low)
	return s.from + part*(s.to-s.from)
}

// ticks returns the powers of ten.
func (s scale) ticks() []float64 {
	var out []float64
	for e := math.Round(math.Log10(s.low)); e <= math.Round(math.Log10(s.high)); e++ {
		out = append(out, math.Pow(10, e))
	}
	return out
}

// tick writes a power of ten without needless digits.
func tick(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
