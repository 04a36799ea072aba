/**
 * Parses a time in ISO 8601 that begins with a day. Returns undefined if the text is not such a time. Unlike `Date`, does not read
 * February 31 as a day in March.
 */
export const parseInstant = (text: string): Date | undefined => {
  const [day] = /^\d{4}-\d\d-\d\d(?=T)/.exec(text) ?? [];
  const [midnight, at] = [new Date(day ?? NaN), new Date(text)];
  if (day === undefined || Number.isNaN(midnight.getTime()) || Number.isNaN(at.getTime())) return undefined;
  return midnight.toISOString().startsWith(day) ? at : undefined;
};
