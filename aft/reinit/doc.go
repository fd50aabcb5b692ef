// Package reinit is global restart under the names of Reinit++ (Georgakoudis, Guo, Laguna, ISC 2020,
// section 3): one call names the point that all ranks go back to when one of them fails, and the
// function that is called there is told how its process has come to it.
//
//	err := reinit.Reinit(ctx, func(ctx context.Context, z *aft.Zone, state reinit.State) error {
//		...                                  // from a checkpoint, unless state is New
//	})
//
// It is aft.Run with the policy GLOBAL-RESTART, which any program with a zone can have
// without this package, by CRAFT_COMM_RECOVERY_POLICY.
package reinit
