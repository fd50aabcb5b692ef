package launch

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
)

// Allocation returns the hosts that a job manager has given to this process:
// Slurm (SLURM_JOB_NODELIST, SLURM_TASKS_PER_NODE) or PBS and Torque
// (PBS_NODEFILE, a line for each slot). Without a job manager it returns nil.
func Allocation() ([]Host, error) {
	if list := os.Getenv("SLURM_JOB_NODELIST"); list != "" {
		tasks := os.Getenv("SLURM_TASKS_PER_NODE")
		if tasks == os.Getenv("SLURM_STEP_TASKS_PER_NODE") {
			tasks = "" // srun has started this process: they are those of its step
		}
		return slurmHosts(list, tasks)
	}
	name := os.Getenv("PBS_NODEFILE")
	if name == "" {
		return nil, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("PBS_NODEFILE: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	hosts, err := pbsHosts(f)
	if err != nil {
		return nil, fmt.Errorf("PBS_NODEFILE=%s: %w", name, err)
	}
	return hosts, nil
}

// pbsHosts reads a list with a line for each slot.
func pbsHosts(r io.Reader) ([]Host, error) {
	var hosts []Host
	at := make(map[string]int)
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		name := strings.TrimSpace(lines.Text())
		if name == "" {
			continue
		}
		if err := checkHostName(name); err != nil {
			return nil, err
		}
		i, seen := at[name]
		if !seen {
			i = len(hosts)
			at[name] = i
			hosts = append(hosts, Host{Name: name})
		}
		hosts[i].Slots++
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return hosts, checkHosts(hosts)
}
