/** Also for thrown values that are not errors. */
export const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error));
