import { isRecord, ownMember, type HeaderPair } from '@standin/contract';
import { bodyAsBuffer, type LogEntry } from '@standin/exchange';
import { contentCodings, decodeContent, decodeText as decodeCharset, textEncoding } from '@standin/exchange/decode';
import { latin1Text, multipartBoundary, parseMultipart } from '@standin/exchange/formats';
import { Budget } from '@standin/responses';
import type { Contract, Operation } from './contract.ts';
import { ContractError, shortened, type Place } from './contract-files.ts';
import { decodeText, formPairs, textsValue, textValue } from './parameter-text.ts';
import type { Mismatch } from './schema-check.ts';

/** Something in a request or a response that is not as in the contract. */
export interface ContractChange {
  readonly message: string;
  readonly direction: 'request' | 'response';
  /** The path of a value in a JSON body, such as `$.items[2].price`. */
  readonly path?: string;
  /** The name of a response header. */
  readonly header?: string;
}

/** The body cannot be checked: it is too long, or in an unknown content coding. */
export class UncheckedBody extends Error {
  readonly reason: 'tooComplex' | 'coding';

  constructor(reason: 'tooComplex' | 'coding') {
    super();
    this.reason = reason;
  }
}

/** For one request or response. About 0.2 s. */
const UNITS_MAX = 20_000_000;
const BODY_BYTES_MAX = 2 * 1024 * 1024;

type Direction = ContractChange['direction'];

/** An exchange, and what is called with each change, also if the check then throws. */
interface Checked {
  readonly entry: LogEntry;
  readonly note: (change: ContractChange) => void;
}

/** Checks the request of an exchange. Throws a `ContractError`, `UncheckedBody` or `BudgetExhausted`. */
export const checkRequest = (
  contract: Contract,
  { operation, parameters }: { readonly operation: Operation; readonly parameters: ReadonlyMap<string, string> },
  { entry, note }: Checked,
): void => {
  const { headers } = entry.request;
  const check = new MessageCheck(contract, { direction: 'request', headers, body: bodyAsBuffer(entry.request), note });
  const declared = check.object(operation.operation, 'an operation');
  const sent = { inPath: parameters, inQuery: formPairs(entry.query) };
  for (const parameter of allParameters(check, operation)) checkParameter(check, parameter, sent);
  const body = member(declared, 'requestBody');
  if (body === undefined) {
    if (check.body.length > 0) check.note('body: the contract has none');
    return;
  }
  const declaredBody = check.object(body, 'requestBody');
  if (check.body.length > 0) check.content(member(declaredBody, 'content'));
  else if (declaredBody.value['required'] === true) check.note('body: is required, but is absent');
};

/**
 * Checks the response of an exchange. Throws as `checkRequest` does.
 *
 * @param hasBody whether the whole body was captured
 */
export const checkResponse = (
  contract: Contract,
  operation: Operation,
  { entry, note, hasBody }: Checked & { readonly hasBody: boolean },
): void => {
  const { status, headers } = entry.response;
  const body = hasBody ? bodyAsBuffer(entry.response) : Buffer.alloc(0);
  const check = new MessageCheck(contract, { direction: 'response', headers, body, note });
  const responses = member(check.object(operation.operation, 'an operation'), 'responses');
  const names = [String(status), `${Math.floor(status / 100)}XX`, `${Math.floor(status / 100)}xx`, 'default'];
  const known = responses === undefined ? undefined : check.object(responses, 'responses');
  const declared = names
    .map((name) => (known === undefined ? undefined : member(known, name)))
    .find((one) => one !== undefined);
  if (declared === undefined) {
    check.note(`status ${status}: is not in the contract`);
    return;
  }
  const response = check.object(declared, 'a response');
  checkHeaders(check, member(response, 'headers'));
  const content = member(response, 'content');
  const hasContent = content !== undefined && Object.keys(check.object(content, 'content').value).length > 0;
  const isEmpty = entry.method === 'HEAD' || status === 204 || status === 304 || !hasBody;
  if (check.body.length > 0 && !isEmpty) {
    if (hasContent) check.content(content);
    else check.note('body: the contract has none');
  } else if (hasContent && !isEmpty && check.needsBody(content))
    check.note('body: is empty, but the contract has a schema for it');
};

interface ObjectPlace extends Place {
  readonly value: Readonly<Record<string, unknown>>;
}

const member = ({ file, value }: ObjectPlace, name: string): Place | undefined => {
  const inner = ownMember(value, name);
  return inner === undefined ? undefined : { file, value: inner };
};

interface Message extends Pick<Checked, 'note'> {
  readonly direction: Direction;
  readonly headers: readonly HeaderPair[];
  readonly body: Buffer;
}

/** Notes what is not as in the contract, for one message. */
class MessageCheck {
  readonly contract: Contract;
  readonly headers: readonly HeaderPair[];
  readonly body: Buffer;
  readonly #direction: Direction;
  readonly #note: Checked['note'];
  readonly #budget = new Budget(UNITS_MAX);

  constructor(contract: Contract, { direction, headers, body, note }: Message) {
    this.contract = contract;
    this.headers = headers;
    this.body = body;
    this.#direction = direction;
    this.#note = note;
  }

  note(message: string, more: Pick<ContractChange, 'path' | 'header'> = {}): void {
    const direction = this.#direction;
    this.#note({ message: `${direction} ${message}`, direction, ...more });
  }

  /** Follows references. Throws a `ContractError` if there is no object. */
  object(place: Place, what: string): ObjectPlace {
    const { files } = this.contract;
    const { file, value } = files.follow(place);
    if (!isRecord(value)) throw new ContractError(`${files.shown(file)}: ${what} is not an object`);
    return { file, value };
  }

  header(name: string): readonly string[] {
    return this.headers.filter(([known]) => known.toLowerCase() === name.toLowerCase()).map(([, value]) => value);
  }

  schema(schema: Place, value: unknown, note: (mismatch: Mismatch) => void): void {
    const found: Mismatch[] = [];
    try {
      this.contract.schemas.check(schema, value, { direction: this.#direction, budget: this.#budget, found });
    } finally {
      found.forEach(note);
    }
  }

  /** Whether an empty body cannot be right: its only form is JSON with a schema. */
  needsBody(content: Place): boolean {
    const types = Object.entries(this.object(content, 'content').value);
    return types.every(([type, media]) => isJson(type) && isRecord(media) && media['schema'] !== undefined);
  }

  /** Checks the body by its media type. */
  content(content: Place | undefined): void {
    const declared = content === undefined ? undefined : this.object(content, 'content');
    const [type = ''] = this.header('content-type');
    const [mediaType = ''] = mediaTypeParts(type);
    const ranges = Object.keys(declared?.value ?? {});
    const range = bestRange(ranges, type);
    if (declared === undefined || range === undefined) {
      const expected =
        ranges.length === 0 ? 'the contract has no content' : `must be ${shortened(ranges.join(' or '))}`;
      this.note(`header content-type: ${expected}, but is ${mediaType === '' ? 'absent' : shortened(mediaType)}`, {
        header: 'content-type',
      });
      return;
    }
    const media = this.object({ file: declared.file, value: ownMember(declared.value, range) }, 'a media type');
    const schema = member(media, 'schema');
    if (schema === undefined) return;
    const parsed = this.#parse(mediaType, type, schema);
    if (parsed === undefined) return;
    this.schema(schema, parsed.value, ({ path, message }) => this.note(`body ${path}: ${message}`, { path }));
  }

  /** Returns undefined for a form that schemas do not describe, and for what is not in its form, which it notes. */
  #parse(mediaType: string, type: string, schema: Place): { readonly value: unknown } | undefined {
    const isText = mediaType.startsWith('text/') && !isJson(mediaType);
    const isForm = mediaType === 'application/x-www-form-urlencoded';
    const boundary = multipartBoundary(type);
    if (!isJson(mediaType) && !isText && !isForm && boundary === undefined) return undefined;
    const decoded = decodeContent(contentCodings(this.headers), this.body, BODY_BYTES_MAX);
    if (decoded.kind === 'unknown') throw new UncheckedBody('coding');
    if (decoded.kind === 'tooLarge') throw new UncheckedBody('tooComplex');
    if (decoded.kind !== 'decoded') {
      this.note('body: is not in its content coding');
      return undefined;
    }
    const { bytes } = decoded;
    if (bytes.length > BODY_BYTES_MAX) throw new UncheckedBody('tooComplex');
    this.#budget.charge(bytes.length);
    if (isForm) return { value: this.#form(formPairs(latin1Text(bytes)), schema) };
    if (boundary !== undefined) {
      const text = latin1Text(bytes);
      const parts = parseMultipart(text, boundary).map(
        ({ name = '', start, end }) => [name, decodeLatin1(text.slice(start, end))] as const,
      );
      return { value: this.#form(parts, schema) };
    }
    const text = decodeCharset(bytes, textEncoding(bytes, type));
    if (isText) {
      const types = this.contract.schemas.types(schema);
      return text === undefined || types.has('object') || types.has('array')
        ? undefined
        : { value: textValue(this.contract.schemas, schema, text) };
    }
    try {
      return { value: JSON.parse(text ?? '') as unknown };
    } catch {
      this.note('body: is not JSON');
      return undefined;
    }
  }

  /** Returns the object that a form stands for. */
  #form(pairs: readonly (readonly [string, string])[], schema: Place): unknown {
    const { schemas } = this.contract;
    const values = Map.groupBy(pairs, ([name]) => name);
    const object: [string, unknown][] = [...values].map(([name, texts]) => {
      const property = schemas.property(schema, name);
      const all = texts.map(([, text]) => text);
      return [
        name,
        property === undefined
          ? all.length === 1
            ? all[0]
            : all
          : structured(textsValue(schemas, property, all), schemas.types(property)),
      ];
    });
    return Object.fromEntries(object);
  }
}

/** A field of a form can be JSON. */
const structured = (value: unknown, types: ReadonlySet<string>): unknown => {
  if (typeof value !== 'string' || !types.has('object')) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
};

const decodeLatin1 = (text: string): string => Buffer.from(text, 'latin1').toString('utf8');

const isJson = (mediaType: string): boolean => /^[^/;]+\/(?:json|[^/;]+\+json)(?:$|\s*;)/i.test(mediaType);

/** Returns the most specific of the ranges that contain the media type, such as `image/*`, preferably one with its parameters. */
const bestRange = (ranges: readonly string[], type: string): string | undefined => {
  const [mediaType = '', ...parameters] = mediaTypeParts(type);
  const [main = ''] = mediaType.split('/', 1);
  const names = mediaType === '' ? ['*/*'] : [mediaType, `${main}/*`, '*/*'];
  const differing = (range: string): number =>
    mediaTypeParts(range)
      .slice(1)
      .filter((one) => !parameters.includes(one)).length;
  return names
    .map((name) => ranges.filter((range) => mediaTypeParts(range)[0] === name))
    .find((found) => found.length > 0)
    ?.toSorted((a, b) => differing(a) - differing(b) || b.length - a.length)[0];
};

const mediaTypeParts = (type: string): readonly string[] => type.split(';').map((part) => part.trim().toLowerCase());

/** The parameters of the path and of the operation, which replaces those with the same name. */
const allParameters = (check: MessageCheck, { operation, shared }: Operation): readonly ObjectPlace[] => {
  const own = member(check.object(operation, 'an operation'), 'parameters');
  const all = new Map<string, ObjectPlace>();
  for (const { file, value } of [shared, ...(own === undefined ? [] : [own])]) {
    if (value === undefined) continue;
    if (!Array.isArray(value)) throw new ContractError(`${check.contract.files.shown(file)}: parameters is not a list`);
    for (const one of value as unknown[]) {
      const parameter = check.object({ file, value: one }, 'a parameter');
      all.set(`${String(parameter.value['in'])} ${String(parameter.value['name'])}`, parameter);
    }
  }
  return [...all.values()];
};

/** These are described by other parts of a contract. */
const NO_PARAMETERS: ReadonlySet<string> = new Set(['accept', 'content-type', 'authorization']);

/** Parameters of a request by their names. */
interface SentParameters {
  /** In latin1, as received. */
  readonly inPath: ReadonlyMap<string, string>;
  readonly inQuery: readonly (readonly [name: string, value: string])[];
}

const checkParameter = (check: MessageCheck, parameter: ObjectPlace, sent: SentParameters): void => {
  const { name, in: place, required } = parameter.value;
  if (typeof name !== 'string' || (place === 'header' && NO_PARAMETERS.has(name.toLowerCase()))) return;
  const texts = parameterTexts(check, { ...parameter, name }, sent);
  const where = `${String(place)} ${shortened(name)}`;
  if (texts === undefined) return;
  if (texts.length === 0) {
    if (required === true) check.note(`${where}: is required, but is absent`);
    return;
  }
  if (texts.every((text) => text === '') && parameter.value['allowEmptyValue'] === true) return;
  checkValue(check, parameter, texts, { where });
};

/** Checks the value of a parameter or of a header. */
const checkValue = (
  check: MessageCheck,
  declared: ObjectPlace,
  texts: readonly string[],
  { where, ...more }: Pick<ContractChange, 'header'> & { readonly where: string },
): void => {
  const { schemas } = check.contract;
  const note = ({ path, message }: Mismatch): void => check.note(`${where}${path.slice(1)}: ${message}`, more);
  const schema = member(declared, 'schema');
  if (schema !== undefined) {
    const types = schemas.types(schema);
    // An object is written in many ways, of which deepObject is checked by its presence only.
    if (types.has('object') && !types.has('string')) return;
    check.schema(schema, textsValue(schemas, schema, texts), note);
    return;
  }
  const content = member(declared, 'content');
  const [[type, media] = []] = content === undefined ? [] : Object.entries(check.object(content, 'content').value);
  const inner = isRecord(media) ? media['schema'] : undefined;
  if (type === undefined || inner === undefined || !isJson(type)) return;
  try {
    const value = JSON.parse(texts.join()) as unknown;
    check.schema({ file: declared.file, value: inner }, value, note);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    check.note(`${where}: is not JSON`, more);
  }
};

/** Returns the texts of a parameter, none if it is absent. Undefined if it has no name of its own, so that nothing can be said. */
const parameterTexts = (
  check: MessageCheck,
  { name, ...parameter }: ObjectPlace & { readonly name: string },
  { inPath, inQuery }: SentParameters,
): readonly string[] | undefined => {
  const { style, explode } = parameter.value;
  const schema = member(parameter, 'schema');
  const types = schema === undefined ? new Set<string>() : check.contract.schemas.types(schema);
  const isObject = types.has('object') && !types.has('string');
  const split = (text: string, separator = ','): readonly string[] =>
    types.has('array') ? text.split(separator) : [text];
  switch (parameter.value['in']) {
    case 'path': {
      const text = inPath.get(name);
      if (text === undefined) return [];
      if (style === 'label')
        return split(text.replace(/^\./, ''), explode === true ? '.' : ',').map((one) => decodeText(one));
      if (style === 'matrix') return undefined;
      return split(text).map((one) => decodeText(one));
    }
    case 'query': {
      if (style === 'deepObject')
        return inQuery.filter(([known]) => known.startsWith(`${name}[`)).map(([, value]) => value);
      if (isObject && explode !== false && (style === undefined || style === 'form')) return undefined;
      const values = inQuery.filter(([known]) => known === name).map(([, value]) => value);
      const separator = style === 'pipeDelimited' ? '|' : style === 'spaceDelimited' ? ' ' : ',';
      const isExploded = explode === true || (explode === undefined && (style === undefined || style === 'form'));
      return isExploded ? values : values.flatMap((value) => split(value, separator));
    }
    case 'header': {
      const values = check.header(name).map((value) => decodeLatin1(value));
      return types.has('array')
        ? values.flatMap((value) => value.split(',').map((one) => one.trim()))
        : values.slice(0, 1);
    }
    case 'cookie': {
      const cookies = check
        .header('cookie')
        .flatMap((value) => value.split(';'))
        .map((pair) => pair.trim())
        .filter((pair) => pair.startsWith(`${name}=`))
        .map((pair) => pair.slice(name.length + 1));
      return isObject ? undefined : cookies.flatMap((value) => split(decodeText(value)));
    }
    default:
      return undefined;
  }
};

const checkHeaders = (check: MessageCheck, headers: Place | undefined): void => {
  if (headers === undefined) return;
  const { file, value } = check.object(headers, 'headers');
  for (const [name, one] of Object.entries(value)) {
    if (name.toLowerCase() === 'content-type') continue;
    const header = check.object({ file, value: one }, 'a header');
    const where = `header ${shortened(name.toLowerCase())}`;
    const more = { header: name };
    const lines = check.header(name).map((line) => decodeLatin1(line));
    const schema = member(header, 'schema');
    const isList = schema !== undefined && check.contract.schemas.types(schema).has('array');
    const texts = isList ? lines.flatMap((line) => line.split(',').map((text) => text.trim())) : lines.slice(0, 1);
    if (texts.length > 0) checkValue(check, header, texts, { where, ...more });
    else if (header.value['required'] === true) check.note(`${where}: is required, but is absent`, more);
  }
};
