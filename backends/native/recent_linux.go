package native

// recent keeps values, the one used last first. The zero value has none.
type recent[T any] []T

// find returns the value that is the one, which is now the one used last.
func (r recent[T]) find(is func(T) bool) (found T, ok bool) {
	for i, v := range r {
		if is(v) {
			copy(r[1:], r[:i])
			r[0] = v
			return v, true
		}
	}
	return found, false
}

// add adds a value as the one used last. Of more than most, those go that were not used for the longest time.
func (r *recent[T]) add(v T, most int) {
	*r = append(recent[T]{v}, (*r)[:min(len(*r), most-1)]...)
}
