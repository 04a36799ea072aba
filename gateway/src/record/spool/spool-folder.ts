/**
 * Names of what is in a spool's folder: a folder per incarnation, named after a UUIDv7, in it segments, numbered in the order in which
 * they were begun.
 */
const INCARNATION = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const SEGMENT = /^(\d{10})\.seg$/;
/** A last segment that another process has delivered as far as that length. */
const TAKEN = /^\d{10}\.seg\.taken-(\d+)$/;

export const isIncarnationName = (name: string): boolean => INCARNATION.test(name);

export const segmentName = (number: number): string => `${String(number).padStart(10, '0')}.seg`;

export const isSegmentName = (name: string): boolean => SEGMENT.test(name);

export const takenName = (segment: string, bytes: number): string => `${segment.slice(0, 14)}.taken-${bytes}`;

/** How much of it was delivered; undefined: it is no such name. */
export const takenBytes = (name: string): number | undefined => {
  const bytes = TAKEN.exec(name)?.[1];
  return bytes === undefined ? undefined : Number(bytes);
};
