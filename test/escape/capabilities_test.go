package escape

import (
	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/linux/caps"
)

func capabilities() attack {
	return attack{
		Class: idsClass, Name: "capabilities",
		Attack: "hold a capability beyond the published set, in any of the five sets",
		Proves: "programs have the published capabilities exactly",
		Run: func() error {
			s, err := caps.ReadSelf()
			if err != nil {
				return err
			}
			if s.Permitted&caps.Programs != caps.Programs {
				return refused(unix.EINVAL, "published capabilities are missing: %s", s.Permitted)
			}
			if (s.Permitted|s.Effective|s.Bounding|s.Inheritable|s.Ambient)&^caps.Programs != 0 {
				return nil
			}
			return refused(unix.EPERM, "the sets hold %s", s.Permitted)
		},
		Denied: errnos(unix.EPERM),
		Fence:  []string{"bounding"},
	}
}
