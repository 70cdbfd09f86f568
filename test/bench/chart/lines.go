package chart

import (
	"cmp"
	"slices"
)

// Line is one way at several places of the x axis.
type Line struct {
	Label string
	Kind  Kind
	// Values belong to the picture's places. One of 0 or less is left out.
	Values []float64
}

// Lines is a picture of lines. The y axis is logarithmic; the places of the x axis are as far from each other.
type Lines struct {
	Title, Subtitle string
	// Places are the labels of the x axis.
	Places []string
	// Unit is written behind the values of the y axis.
	Unit  string
	Lines []Line
}

// The measures of a picture of lines, in pixels.
const (
	lineWidth   = 760
	lineHeight  = 380
	lineLeft    = 80
	lineRight   = 240
	lineTop     = 66
	lineBottom  = 36
	labelHeight = 16
)

// SVG draws the picture.
func (l Lines) SVG() string {
	d := newDrawing(lineWidth, lineHeight, l.Title, l.Subtitle)
	var values []float64
	for _, line := range l.Lines {
		values = append(values, line.Values...)
	}
	s := newScale(values, lineHeight-lineBottom, lineTop)
	for _, v := range s.ticks() {
		d.line("grid", point{lineLeft, s.at(v)}, point{lineWidth - lineRight, s.at(v)})
		d.anchored(lineLeft-8, s.at(v)+4, "soft", "end", tick(v)+" "+l.Unit)
	}
	for i, p := range l.Places {
		d.anchored(l.x(i), lineHeight-lineBottom+20, "soft", "middle", p)
	}
	var labels []label
	for _, line := range l.Lines {
		if points := l.points(s, line); len(points) > 0 {
			d.path(line.Kind.class(), points)
			for _, p := range points {
				d.dot(line.Kind.class(), p)
			}
			labels = append(labels, label{text: line.Label, kind: line.Kind, at: points[len(points)-1]})
		}
	}
	d.labels(labels)
	return d.end()
}

// x returns the pixel of a place.
func (l Lines) x(i int) float64 {
	const room = lineWidth - lineLeft - lineRight
	return lineLeft + room*float64(i)/float64(max(len(l.Places)-1, 1))
}

func (l Lines) points(s scale, line Line) []point {
	var out []point
	for i, v := range line.Values {
		if v > 0 {
			out = append(out, point{l.x(i), s.at(v)})
		}
	}
	return out
}

// label is a line's name at its end.
type label struct {
	text string
	kind Kind
	at   point
}

// labels writes the names right of the lines, as near to their ends as leaves each readable.
func (d *drawing) labels(all []label) {
	slices.SortStableFunc(all, func(a, b label) int { return cmp.Compare(a.at.y, b.at.y) })
	last := float64(lineTop - labelHeight)
	for _, l := range all {
		if l.at.x < lineWidth-lineRight { // a line that ends early has its name there
			d.text(l.at.x+10, l.at.y+4, l.kind.class(), l.text)
			continue
		}
		y := max(l.at.y+4, last+labelHeight)
		d.text(lineWidth-lineRight+12, y, l.kind.class(), l.text)
		last = y
	}
}
