/**
 * Names in a spool folder. Each incarnation, which is one gateway process, has a folder whose name is a UUIDv7. The folder contains
 * segments, numbered in the order in which they were started. An empty folder without a writer gets the suffix `.drained`.
 */
const INCARNATION = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const SEGMENT = /^(\d{10})\.seg$/;
/** The last segment of a folder, renamed by another process that has delivered it. The number is the delivered length in bytes. */
const TAKEN = /^\d{10}\.seg\.taken-(\d+)$/;
/** A segment that its owner was compacting when it ended (`replaceFile`). The segment itself is unchanged. */
const DRAFT = /^\.\d{10}\.seg\..+\.tmp$/;

const DRAINED_SUFFIX = '.drained';

export const drainedName = (incarnation: string): string => `${incarnation}${DRAINED_SUFFIX}`;

/** Returns the incarnation of a drained folder, or undefined for other names. */
export const drainedIncarnation = (name: string): string | undefined => {
  const incarnation = name.slice(0, -DRAINED_SUFFIX.length);
  return name.endsWith(DRAINED_SUFFIX) && INCARNATION.test(incarnation) ? incarnation : undefined;
};

export const isIncarnationName = (name: string): boolean => INCARNATION.test(name);

export const segmentName = (number: number): string => `${String(number).padStart(10, '0')}.seg`;

export const isSegmentName = (name: string): boolean => SEGMENT.test(name);

export const isDraftName = (name: string): boolean => DRAFT.test(name);

export const takenName = (segment: string, bytes: number): string => `${segment.slice(0, 14)}.taken-${bytes}`;

/** Returns the delivered length in the name of such a renamed segment, or undefined for other names. */
export const takenBytes = (name: string): number | undefined => {
  const bytes = TAKEN.exec(name)?.[1];
  return bytes === undefined ? undefined : Number(bytes);
};
