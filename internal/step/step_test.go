package step

import (
	"maps"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// As the launchers set them: Slurm 22.05, Open MPI 4.1.4.
func TestThis(t *testing.T) {
	for _, c := range []struct {
		name string
		env  map[string]string
		want Task // zero: not one of several
	}{
		{"nothing", nil, Task{}},
		{"srun -n 8", map[string]string{"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "8", "SLURM_NTASKS": "8", "SLURM_JOB_ID": "12", "SLURM_STEP_ID": "0"}, Task{"srun", "12.0", 3, 8}},
		{"srun -n 1", map[string]string{"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1", "SLURM_NTASKS": "1"}, Task{}},
		{"a batch script of 8 tasks", map[string]string{"SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_JOB_ID": "12"}, Task{}},
		{"salloc -n 8", map[string]string{"SLURM_NTASKS": "8", "SLURM_JOB_ID": "12"}, Task{}},
		{"mpirun -n 2", map[string]string{"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "PMIX_RANK": "1", "PMIX_NAMESPACE": "77"}, Task{"mpirun", "77", 1, 2}},
		{"mpirun -n 1", map[string]string{"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1", "PMIX_RANK": "0", "PMIX_NAMESPACE": "77"}, Task{}},
		{"mpirun -n 1 on another node of an allocation", map[string]string{"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1", "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "3"}, Task{}},
		{"mpiexec -n 4", map[string]string{"PMI_RANK": "0", "PMI_SIZE": "4", "PMI_JOBID": "3.0"}, Task{"mpiexec", "3.0", 0, 4}},
		{"only the size", map[string]string{"PMI_SIZE": "4"}, Task{"mpiexec", "", 0, 4}},
		{"prun", map[string]string{"PMIX_RANK": "2", "PMIX_NAMESPACE": "a@1"}, Task{"prun", "a@1", 2, 0}},
		{"perhaps alone", map[string]string{"PMIX_RANK": "0", "PMIX_NAMESPACE": "a@1"}, Task{}},
		{"a rank of craft run", map[string]string{"CRAFT_ROLE": "rank", "SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "8"}, Task{}},
		{"no number", map[string]string{"PMI_SIZE": "many"}, Task{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			set(t, c.env)
			got, several := This()
			require.Equal(t, c.want != Task{}, several)
			if several {
				require.Equal(t, c.want, got)
				require.ErrorContains(t, Refuse(false), "craft run -n ")
				require.ErrorContains(t, Refuse(true), "without "+got.Launcher)
				inherited := regexp.MustCompile(`inherited (\S+)`).FindStringSubmatch(Refuse(true).Error())[1]
				require.Contains(t, c.env, inherited)
				t.Setenv("CRAFT_ENGINE", "single")
			}
			require.NoError(t, Refuse(false))
		})
	}
	set(t, map[string]string{"CRAFT_ENGINE": "mpi"})
	require.ErrorContains(t, Refuse(false), `CRAFT_ENGINE="mpi"`)
}

// set gives the process the variables of a launcher, and no others.
func set(t *testing.T, variables map[string]string) {
	all := map[string]string{"CRAFT_ROLE": "", "CRAFT_ENGINE": "auto", "SLURM_JOB_ID": "", "SLURM_STEP_ID": "", "PMI_JOBID": "", "PMI_PORT": "", "PMIX_NAMESPACE": ""}
	for _, l := range launchers {
		all[l.rank] = ""
		if l.size != "" {
			all[l.size] = ""
		}
	}
	maps.Copy(all, variables)
	for name, value := range all {
		t.Setenv(name, value)
	}
}

// TestCommand names the program as a user would.
func TestCommand(t *testing.T) {
	before := os.Args
	defer func() { os.Args = before }()
	for given, want := range map[string]string{
		"/scratch/w/./lanczos": "craft run -n 4 /scratch/w/lanczos",
		"./lanczos":            "craft run -n 4 ./lanczos", // lanczos alone is looked for in PATH
		"lanczos":              "craft run -n 4 lanczos",
		"bin/../lanczos":       "craft run -n 4 ./lanczos",
		"../lanczos":           "craft run -n 4 ../lanczos",
	} {
		os.Args = []string{given}
		require.Equal(t, want, Task{Size: 4}.Command())
	}
	os.Args = []string{"./a", "-x"}
	require.Equal(t, "craft run -n N ./a ...", Task{}.Command())
}
