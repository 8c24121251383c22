package api

// Build is what a base has beyond its image: packages, commands and the
// installation of an agent, run in this order as root inside.
type Build struct {
	Packages *Packages `json:"packages,omitempty"`
	Run      []string  `json:"run,omitempty"`     // shell commands
	Install  string    `json:"install,omitempty"` // shell command that installs the agent
}

// Packages are names, perhaps with a version, by package manager. Those of the
// system (apt, apk, dnf) need an image other than host.
type Packages struct {
	Apt []string `json:"apt,omitempty"`
	Apk []string `json:"apk,omitempty"`
	Dnf []string `json:"dnf,omitempty"`
	Npm []string `json:"npm,omitempty"`
	Pip []string `json:"pip,omitempty"`
}

// BaseRequest names a configuration: an image and what is built over it.
type BaseRequest struct {
	Image string `json:"image,omitempty"` // default host
	Build Build  `json:"build"`
}

// BuildRequest asks for the base of a configuration. The base is an image; it is
// called localhost/base/NAME, or after its configuration without a Name. Env is
// for the steps alone.
type BuildRequest struct {
	Image   string            `json:"image,omitempty"`
	Build   Build             `json:"build"`
	Name    string            `json:"name,omitempty"`
	NoCache bool              `json:"noCache,omitempty"` // every step anew
	Env     map[string]string `json:"env,omitempty"`
}

// BuildEvent is one line of the answer to a build. Status is cached, running,
// output or done; the last line has either Image or Error. Output that is not
// UTF-8 is base64, and Encoding says so.
type BuildEvent struct {
	Step     int    `json:"step,omitempty"` // from 1
	Steps    int    `json:"steps,omitempty"`
	Text     string `json:"text,omitempty"` // what the step does
	Status   string `json:"status,omitempty"`
	Output   string `json:"output,omitempty"`
	Encoding string `json:"encoding,omitempty"`
	Image    *Image `json:"image,omitempty"`
	Error    *Error `json:"error,omitempty"`
}

// BaseStatus is what of a configuration's base is there. Without a Digest it is
// not built.
type BaseStatus struct {
	Image  string     `json:"image"`
	Digest string     `json:"digest,omitempty"`
	Steps  []BaseStep `json:"steps"`
}

// BaseStep is one step of a base.
type BaseStep struct {
	Text   string `json:"text"`
	Cached bool   `json:"cached"` // a build would not run it
}

// ImageBase tells how an image was built here.
type ImageBase struct {
	Image  string   `json:"image"`            // the reference it was built from
	Parent string   `json:"parent,omitempty"` // digest of that image
	Steps  []string `json:"steps"`
}
