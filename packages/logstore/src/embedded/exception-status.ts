/**
 * HTTP statuses of ClickHouse's exceptions, as its own server answers them
 * (ClickHouse src/Server/HTTP/exceptionCodeToHTTPStatus.cpp).
 */
const CODES_BY_STATUS: readonly (readonly [status: number, codes: readonly number[]])[] = [
  [
    400,
    [6, 8, 10, 15, 25, 26, 27, 36, 38, 41, 43, 44, 53, 62, 72, 117, 167, 168, 223, 321, 376, 427, 441, 456, 675, 676],
  ],
  [403, [164, 192, 193, 497, 511, 512, 516]],
  [404, [46, 47, 50, 56, 60, 63, 73, 81, 106, 115, 336]],
  [408, [159]],
  [413, [257]],
  [501, [48]],
  [503, [76, 202, 209, 439]],
];

const statuses: ReadonlyMap<number, number> = new Map(
  CODES_BY_STATUS.flatMap(([status, codes]) => codes.map((code): [number, number] => [code, status])),
);

export const exceptionStatus = (code: number): number => statuses.get(code) ?? 500;
