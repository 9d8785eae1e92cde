/** `changedSince` returns the paths that differ from a commit; null where it is unknown, or no ancestor. */
export function planSuites(
  passed: Record<string, string>,
  changedSince: (commit: string) => string[] | null,
): { suite: string; run: boolean; why: string }[]
