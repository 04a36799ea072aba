/** What a check found. `Unknown` means that it could not be carried out, for example because a permission is missing. */
export interface Finding {
  /** What was checked, such as `Operator`. */
  readonly check: string;
  readonly status: 'Passed' | 'Failed' | 'Unknown';
  readonly message: string;
  /** What to do about it. Absent if the check passed. */
  readonly remedy?: string;
}

export const passed = (check: string, message: string): Finding => ({ check, status: 'Passed', message });
export const failed = (check: string, message: string, remedy: string): Finding => ({
  check,
  status: 'Failed',
  message,
  remedy,
});
export const unknown = (check: string, message: string, remedy: string): Finding => ({
  check,
  status: 'Unknown',
  message,
  remedy,
});
