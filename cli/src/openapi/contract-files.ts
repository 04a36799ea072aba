import { readFileSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { isRecord, ownMember } from '@standin/contract';
import { yamlDocuments } from '@standin/crds';
import { fileErrorText } from '../plain-error.ts';

/** A mistake in a contract. The message names the file and is for people. */
export class ContractError extends Error {
  override readonly name = 'ContractError';
}

/** A value in a contract, and the file that contains it, to which the references in the value are relative. */
export interface Place {
  readonly file: string;
  readonly value: unknown;
}

/** Of all files of a contract together. */
const BYTES_MAX = 32 * 1024 * 1024;
const FILES_MAX = 1_000;
/** References that lead to other references. */
const HOPS_MAX = 100;

/**
 * Reads the files of a contract when a reference leads to them. Nothing outside the folder of the first file is read, and nothing from the
 * network. References are never replaced, because the result would be very large or endless.
 */
export class ContractFiles {
  /** The first file. */
  readonly root: Place;
  readonly #folder: string;
  readonly #parsed = new Map<string, unknown>();
  #bytes = 0;

  /** Throws a `ContractError`. */
  constructor(name: string) {
    const file = this.#realPath(name, name);
    this.#folder = path.dirname(file);
    this.root = { file, value: this.#read(file) };
  }

  /** Returns the path of a file as messages show it. */
  shown(file: string): string {
    return path.relative(this.#folder, file);
  }

  /** Returns what a reference such as `#/components/schemas/Order` or `schemas.yaml#/Order` leads to. Throws a `ContractError`. */
  resolve(reference: string, from: string): Place {
    const [document = '', fragment = ''] = splitOnce(reference, '#');
    const fail = (why: string): ContractError =>
      new ContractError(`${this.shown(from)}: the reference ${JSON.stringify(shortened(reference))} ${why}`);
    if (/^[A-Za-z][A-Za-z0-9+.-]*:|^\/\//.test(document))
      throw fail('is a URL, and a contract is read from files only: download the document into its folder');
    const file = document === '' ? from : this.#fileAt(document, from, fail);
    const pointer = decodePointer(fragment);
    if (pointer === undefined) throw fail('has no JSON pointer, such as #/components/schemas/Order, after #');
    let value = this.#read(file);
    for (const key of pointer) {
      value = isRecord(value)
        ? ownMember(value, key)
        : Array.isArray(value)
          ? (value as unknown[])[Number(key)]
          : undefined;
      if (value === undefined) throw fail('leads to nothing');
    }
    return { file, value };
  }

  /** Returns the value at a place, or what it refers to. Throws a `ContractError`. */
  follow(place: Place): Place {
    let at = place;
    for (let hops = 0; hops < HOPS_MAX; hops++) {
      const reference = isRecord(at.value) ? ownMember(at.value, '$ref') : undefined;
      if (typeof reference !== 'string') return at;
      at = this.resolve(reference, at.file);
    }
    throw new ContractError(`${this.shown(place.file)}: more than ${HOPS_MAX} references lead to each other`);
  }

  #fileAt(document: string, from: string, fail: (why: string) => ContractError): string {
    const name = path.resolve(path.dirname(from), decoded(document));
    // Before anything is read, so that a contract cannot find out which files exist.
    if (!this.#isInside(name)) throw fail('leads out of the folder of the contract');
    const file = this.#realPath(name, this.shown(name));
    if (!this.#isInside(file)) throw fail('leads out of the folder of the contract');
    return file;
  }

  #isInside(file: string): boolean {
    return file.startsWith(this.#folder.endsWith(path.sep) ? this.#folder : this.#folder + path.sep);
  }

  #realPath(name: string, shown: string): string {
    try {
      return realpathSync(name);
    } catch (error) {
      throw new ContractError(`${shown} ${fileErrorText(error)}`, { cause: error });
    }
  }

  #read(file: string): unknown {
    if (this.#parsed.has(file)) return this.#parsed.get(file);
    const shown = this.shown(file);
    if (this.#parsed.size === FILES_MAX)
      throw new ContractError(`${shown}: the contract has more than ${FILES_MAX} files`);
    let text: string;
    try {
      const status = statSync(file);
      if (!status.isFile()) throw new ContractError(`${shown} is not a file`);
      this.#bytes += status.size;
      if (this.#bytes > BYTES_MAX) throw new ContractError(`${shown}: the contract has more than ${BYTES_MAX} bytes`);
      text = readFileSync(file, 'utf8').replace(/^\ufeff/, '');
    } catch (error) {
      if (error instanceof ContractError) throw error;
      throw new ContractError(`${shown} ${fileErrorText(error)}`, { cause: error });
    }
    const value = parseDocument(text, shown);
    this.#parsed.set(file, value);
    return value;
  }
}

const parseDocument = (text: string, shown: string): unknown => {
  if (/^\s*[{[]/.test(text)) {
    try {
      return JSON.parse(text);
    } catch {
      // YAML, too, has braces.
    }
  }
  const { documents, tooDeep, lineAt } = yamlDocuments(text, { version: '1.2', merge: true });
  const [first, second] = documents;
  const fault = tooDeep ?? first?.fault;
  if (fault !== undefined) throw new ContractError(`${shown}:${lineAt(fault.offset)}: ${fault.message}`);
  if (first === undefined) throw new ContractError(`${shown} is empty`);
  if (second !== undefined) throw new ContractError(`${shown} contains more than one document`);
  // `yamlDocuments` has already counted the aliases.
  return first.document.toJS({ maxAliasCount: -1 });
};

/** Returns undefined if the fragment is the name of an anchor. */
const decodePointer = (fragment: string): readonly string[] | undefined => {
  const pointer = decoded(fragment);
  if (pointer === '') return [];
  if (!pointer.startsWith('/')) return undefined;
  return pointer
    .slice(1)
    .split('/')
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
};

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

const splitOnce = (text: string, separator: string): readonly string[] => {
  const at = text.indexOf(separator);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
};

const SHOWN_CHARS_MAX = 200;
export const shortened = (text: string): string =>
  text.length <= SHOWN_CHARS_MAX ? text : `${text.slice(0, SHOWN_CHARS_MAX).toWellFormed()}…`;
