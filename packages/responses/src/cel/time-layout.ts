/** A time, as clocks in a time zone show it. */
interface LocalTime {
  /** Its fields in UTC are those of the clocks. */
  readonly date: Date;
  readonly nanos: number;
  /** How far the clocks are ahead of UTC. Undefined if no time zone was asked for. */
  readonly offsetMs: number | undefined;
}

type Write = (time: LocalTime) => string;

const MONTHS = [
  ...['January', 'February', 'March', 'April', 'May', 'June', 'July'],
  ...['August', 'September', 'October', 'November', 'December'],
];
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

export const dayOfYear = (date: Date): number => (date.getTime() - new Date(date).setUTCMonth(0, 1)) / DAY_MS;

const padded =
  (length: number, read: (date: Date) => number): Write =>
  ({ date }) =>
    String(read(date)).padStart(length, '0');

const hour12 = (date: Date): number => date.getUTCHours() % 12 || 12;
const month = ({ date }: LocalTime): string => MONTHS[date.getUTCMonth()] ?? '';
const day = ({ date }: LocalTime): string => DAYS[date.getUTCDay()] ?? '';

const offset = (separator: string, { offsetMs = 0 }: LocalTime): string => {
  const minutes = Math.floor(Math.abs(offsetMs) / MINUTE_MS);
  const [hour, minute] = [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0'));
  return `${offsetMs < 0 ? '-' : '+'}${hour}${separator}${minute}`;
};

const fraction =
  (digits: number): Write =>
  ({ nanos }) =>
    String(nanos).padStart(9, '0').slice(0, digits);

/** The letters of Unicode TR 35 that WireMock and Mockoon have, too. */
const FIELDS: ReadonlyMap<string, Write> = new Map<string, Write>([
  ['yyyy', padded(4, (date) => date.getUTCFullYear())],
  ['yy', padded(2, (date) => date.getUTCFullYear() % 100)],
  ['M', padded(1, (date) => date.getUTCMonth() + 1)],
  ['MM', padded(2, (date) => date.getUTCMonth() + 1)],
  ['MMM', (time) => month(time).slice(0, 3)],
  ['MMMM', month],
  ['d', padded(1, (date) => date.getUTCDate())],
  ['dd', padded(2, (date) => date.getUTCDate())],
  ['DDD', padded(3, (date) => Math.floor(dayOfYear(date)) + 1)],
  ['EEE', (time) => day(time).slice(0, 3)],
  ['EEEE', day],
  ['H', padded(1, (date) => date.getUTCHours())],
  ['HH', padded(2, (date) => date.getUTCHours())],
  ['h', padded(1, hour12)],
  ['hh', padded(2, hour12)],
  ['m', padded(1, (date) => date.getUTCMinutes())],
  ['mm', padded(2, (date) => date.getUTCMinutes())],
  ['s', padded(1, (date) => date.getUTCSeconds())],
  ['ss', padded(2, (date) => date.getUTCSeconds())],
  ...Array.from({ length: 9 }, (_, index) => ['S'.repeat(index + 1), fraction(index + 1)] as const),
  ['a', ({ date }) => (date.getUTCHours() < 12 ? 'AM' : 'PM')],
  ['XXX', (time) => (time.offsetMs === undefined || time.offsetMs === 0 ? 'Z' : offset(':', time))],
  ['xxx', (time) => offset(':', time)],
  ['xx', (time) => offset('', time)],
]);

const RFC_1123_ZONE: Write = (time) => (time.offsetMs === undefined ? 'GMT' : offset('', time));

/** Text in quotes, letters of one kind, or other text. */
const TOKEN = /'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+/y;
/** Longer layouts have no use, and each field takes time. */
const LAYOUT_LENGTH_MAX = 100;

/** Prepares a layout. Throws an error with a readable message if it is not valid. */
export const parseTimeLayout = (layout: string): Write => {
  if (layout === 'RFC1123') return joined([parseTimeLayout('EEE, dd MMM yyyy HH:mm:ss '), RFC_1123_ZONE]);
  if (layout === 'RFC3339') return parseTimeLayout("yyyy-MM-dd'T'HH:mm:ssXXX");
  if (layout.length > LAYOUT_LENGTH_MAX) throw new Error(`the layout has more than ${LAYOUT_LENGTH_MAX} characters`);
  const parts: Write[] = [];
  for (let at = 0; at < layout.length; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at;
    const [token, quoted, letter] = TOKEN.exec(layout) ?? [];
    if (token === undefined) throw new Error("the layout has a ' without a second one");
    const field = FIELDS.get(token);
    if (letter !== undefined && field === undefined)
      throw new Error(
        `the layout has ${token}, which is not supported: use letters such as yyyy-MM-dd HH:mm:ss.SSS XXX, RFC1123 or RFC3339, and put text in single quotes`,
      );
    const text = token === "''" ? "'" : (quoted?.replaceAll("''", "'") ?? token);
    parts.push(field ?? (() => text));
  }
  return joined(parts);
};

const joined =
  (parts: readonly Write[]): Write =>
  (time) =>
    parts.map((write) => write(time)).join('');

const FIXED_ZONE = /^([+-]?)([01]\d|2[0-3]):([0-5]\d)$/;
const ZONE_OFFSET = /^GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/;

/** Returns how far the clocks of a time zone are ahead of UTC at a time, in milliseconds. */
export const zoneOffsetMs = (zone: string, date: Date): number => {
  const [, sign, hours, minutes, seconds = 0] =
    FIXED_ZONE.exec(zone) ?? ZONE_OFFSET.exec(offsetName(zone, date) ?? '') ?? [];
  if (hours === undefined) return 0;
  const ms = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000;
  return sign === '-' ? -ms : ms;
};

/** Throws an error with a readable message if there is no such time zone. */
export const checkTimeZone = (zone: string): void => void zoneOffsetMs(zone, new Date(0));

/** Returns for example `GMT+02:00`. */
const offsetName = (timeZone: string, date: Date): string | undefined => {
  // Intl would take other offsets, too.
  if (/^[+-]/.test(timeZone)) throw new Error('the offset of the time zone is not like +02:00');
  return zoneFormat(timeZone)
    .formatToParts(date)
    .find(({ type }) => type === 'timeZoneName')?.value;
};

const zoneFormat = (timeZone: string): Intl.DateTimeFormat => {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
  } catch {
    throw new Error(`${timeZone} is not a time zone such as Europe/Berlin or +02:00`);
  }
};
