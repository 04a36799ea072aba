/** Exit codes of `standin expect` besides 0 for met. */
export const EXIT = { unmet: 1, notCreated: 2, undecided: 3 } as const;
