package env

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Size is a number of bytes, written such as 512MiB, 4G or 1000000.
type Size int64

// units are powers of 1024, whether the i is written or not, as in dd and ulimit.
var units = []struct {
	suffix string
	bytes  int64
}{{"k", 1 << 10}, {"m", 1 << 20}, {"g", 1 << 30}, {"t", 1 << 40}, {"", 1}}

// Decode implements envconfig.Decoder.
func (s *Size) Decode(text string) error {
	number := strings.TrimSpace(strings.ToLower(text))
	number = strings.TrimSuffix(strings.TrimSuffix(number, "b"), "i")
	for _, u := range units {
		digits, ok := strings.CutSuffix(number, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/u.bytes {
			break
		}
		*s = Size(n * u.bytes)
		return nil
	}
	return fmt.Errorf("size %q: want a number of bytes, or one with KiB, MiB, GiB or TiB", text)
}

// String is such as "16MiB".
func (s Size) String() string {
	for _, u := range slices.Backward(units[:4]) {
		if s != 0 && int64(s)%u.bytes == 0 {
			return fmt.Sprintf("%d%siB", int64(s)/u.bytes, strings.ToUpper(u.suffix))
		}
	}
	return strconv.FormatInt(int64(s), 10)
}
