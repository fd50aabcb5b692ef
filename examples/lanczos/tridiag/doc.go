// Package tridiag finds the eigenvalues of the symmetric tridiagonal matrix
// that the Lanczos process builds, and tells which of them are eigenvalues of
// the large matrix behind it.
//
// # Terms
//
//   - T: the tridiagonal matrix of k Lanczos steps, diagonal alpha[0..k-1],
//     off-diagonal beta[0..k-2]. beta[k-1] couples it to the next step.
//   - Ritz value: an eigenvalue of T. With the last component s of its
//     eigenvector, |beta[k-1]*s| bounds its distance to the next eigenvalue of
//     the large matrix: the residual.
//   - weight: the square of the first component, the share that the start
//     vector has in the eigenvector.
//   - ghost: a copy. Without reorthogonalisation the Lanczos vectors lose their
//     orthogonality as soon as a Ritz value has converged, and the process
//     finds it once more, and again.
//
// # Ghosts
//
// Cullum and Willoughby (Lanczos Algorithms for Large Symmetric Eigenvalue
// Computations, 1985, chapter 4) sort the Ritz values as follows: one that is
// numerically multiple is an eigenvalue, to be counted once; one that is simple
// is spurious if it is also an eigenvalue of T without its first row and
// column. The latter holds exactly when the first component of the eigenvector
// vanishes, so the weight tells it without a second matrix. [Distinct] works
// this way; its comment has the tolerances.
package tridiag
