package rootfs

import "os"

// opened collects descriptors that are needed until a mount is made, and the
// first error, so that the steps in between read one after the other.
type opened struct {
	files []*os.File
	err   error
}

func (o *opened) dir(p string) *os.File {
	if o.err != nil {
		return nil
	}
	return o.add(os.Open(p))
}

func (o *opened) add(f *os.File, err error) *os.File {
	if err != nil {
		o.err = err
		return nil
	}
	o.files = append(o.files, f)
	return f
}

func (o *opened) close() {
	for _, f := range o.files {
		f.Close()
	}
}
