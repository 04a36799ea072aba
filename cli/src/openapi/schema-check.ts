import { isRecord, ownMember } from '@standin/contract';
import { BudgetExhausted, parseRegularExpression, type Budget, type ParsedRegularExpression } from '@standin/responses';
import { ContractError, shortened, type ContractFiles, type Place } from './contract-files.ts';
import { isInFormat } from './formats.ts';

/** What does not match a schema. */
export interface Mismatch {
  /** Such as `$.items[2].price`. */
  readonly path: string;
  /** Such as `must be a number, but is a string`. Contains nothing of the value. */
  readonly message: string;
}

export interface CheckOptions {
  readonly direction: 'request' | 'response';
  /** What the check may cost. It throws `BudgetExhausted`. */
  readonly budget: Budget;
  /** Gets the first mismatches, also if the check throws. */
  readonly found: Mismatch[];
}

type Schema = Readonly<Record<string, unknown>>;

/** Values and subschemas in each other. The stack has room for this many. */
const DEPTH_MAX = 400;
const MISMATCHES_MAX = 50;
/** Schemas that are searched for the type of a value. */
const PARTS_MAX = 50;
const PATTERN_CHARS_MAX = 1_000;
/** What it takes to apply a schema to a value, and to look at a member or an element, in units of a `Budget`. */
const SCHEMA_UNITS = 30;
const VALUE_UNITS = 5;
const CHARACTERS_PER_UNIT = 4;

/**
 * Checks values against the schemas of a contract: JSON Schema 2020-12 as OpenAPI 3.1 uses it, and its form in OpenAPI 3.0.
 *
 * Libraries generate code for all schemas that refer to each other in one step, which fails for long chains of references, and none limits
 * what a check costs. This follows a reference when a value reaches it, and charges each step to a budget.
 */
export class SchemaCheck {
  readonly #files: ContractFiles;
  /** In OpenAPI 3.0, a reference replaces what is beside it. */
  readonly #isVersion30: boolean;
  readonly #warn: (message: string) => void;
  readonly #patterns = new Map<string, ParsedRegularExpression>();

  /** @param warn is called with each part of the contract that cannot be checked */
  constructor(files: ContractFiles, isVersion30: boolean, warn: (message: string) => void) {
    this.#files = files;
    this.#isVersion30 = isVersion30;
    this.#warn = warn;
  }

  /** Finds mismatches. Throws a `ContractError` or `BudgetExhausted`. */
  check(schema: Place, value: unknown, options: CheckOptions): void {
    this.#apply(schema, value, { ...options, path: '$', depth: 0, evaluated: undefined });
  }

  /** Returns the types that a schema allows, as far as it names them. Empty if it does not. Throws a `ContractError`. */
  types(schema: Place): ReadonlySet<string> {
    return new Set(Array.from(this.#parts(schema), ({ value }) => allowedTypes(value)).flat());
  }

  /** Returns the schema of the elements of an array. Throws a `ContractError`. */
  items(schema: Place): Place | undefined {
    return this.#find(schema, (part) => part['items']);
  }

  /** Returns the schema of a property. Throws a `ContractError` or `BudgetExhausted`. */
  property(schema: Place, name: string, budget?: Budget): Place | undefined {
    return this.#find(schema, (part) => ownMember(record(part['properties']), name), budget);
  }

  #find(schema: Place, inner: (part: Schema) => unknown, budget?: Budget): Place | undefined {
    for (const { file, value } of this.#parts(schema)) {
      budget?.charge(SCHEMA_UNITS);
      const found = inner(value);
      if (found !== undefined) return { file, value: found };
    }
    return undefined;
  }

  /** Yields a schema and those that it consists of, as far as they say what the value is. */
  *#parts(schema: Place): Generator<{ readonly file: string; readonly value: Schema }> {
    const pending = [schema];
    for (let count = 0; count < PARTS_MAX; count++) {
      const next = pending.shift();
      if (next === undefined) return;
      const { file, value } = this.#files.follow(next);
      if (!isRecord(value)) continue;
      yield { file, value };
      for (const name of ['allOf', 'anyOf', 'oneOf'])
        for (const part of list(ownMember(value, name)).slice(0, PARTS_MAX)) pending.push({ file, value: part });
    }
  }

  /** Applies a schema, and notes what does not match. Returns whether it matches. */
  #apply(place: Place, value: unknown, at: At): boolean {
    at.budget.charge(SCHEMA_UNITS);
    const schema = place.value;
    if (schema === true || (schema === undefined && at.depth > 0)) return true;
    if (schema === false) return note(at, 'must be absent');
    if (!isRecord(schema)) throw new ContractError(`${this.#files.shown(place.file)}: a schema is not an object`);
    if (at.depth > DEPTH_MAX) throw new BudgetExhausted('the value or the schema is nested too deeply');
    const hasUnevaluated = Object.hasOwn(schema, 'unevaluatedProperties') || Object.hasOwn(schema, 'unevaluatedItems');
    const evaluated = hasUnevaluated ? newEvaluated() : at.evaluated;
    const own = { ...at, depth: at.depth + 1, evaluated };
    const reference = ownMember(schema, '$ref');
    const isReferred =
      typeof reference !== 'string' || this.#apply(this.#files.resolve(reference, place.file), value, own);
    if (typeof reference === 'string' && this.#isVersion30) return isReferred;
    if (value === null && ownMember(schema, 'nullable') === true) return isReferred;
    if (Object.hasOwn(schema, '$dynamicRef'))
      this.#warn(`${this.#files.shown(place.file)}: what $dynamicRef refers to is not checked`);
    const results = [
      isReferred,
      this.#checkType(schema, value, own),
      this.#checkParts(place.file, schema, value, own),
      typeof value !== 'number' || checkNumber(schema, value, own),
      typeof value !== 'string' || this.#checkText(place.file, schema, value, own),
      !Array.isArray(value) || this.#checkArray(place.file, schema, value, own),
      !isRecord(value) || this.#checkObject(place.file, schema, value, own),
    ];
    // Last, because it depends on all others.
    if (hasUnevaluated) results.push(this.#checkUnevaluated(place.file, schema, value, own));
    if (hasUnevaluated && at.evaluated !== undefined && evaluated !== undefined) addEvaluated(at.evaluated, evaluated);
    return results.every((isMatch) => isMatch);
  }

  #checkType(schema: Schema, value: unknown, at: At): boolean {
    const types = textList(schema['type']);
    if (types.length > 0 && !types.some((type) => isOfType(value, type)))
      return note(at, `must be ${types.map(typeText).join(' or ')}, but is ${typeText(valueType(value))}`);
    const isConstant = !Object.hasOwn(schema, 'const') || isEqual(value, schema['const'], at.budget);
    if (!isConstant) return note(at, `must be ${shownConstant(schema['const'])}`);
    const allowed = schema['enum'];
    if (!Array.isArray(allowed) || allowed.some((one) => isEqual(value, one, at.budget))) return true;
    return note(at, `must be ${shortened(allowed.slice(0, 20).map(shownConstant).join(' or '))}`);
  }

  /** The schemas that apply to the same value. */
  #checkParts(file: string, schema: Schema, value: unknown, at: At): boolean {
    const applied = (part: unknown): Trial => this.#try({ file, value: part }, value, at);
    const keep = ({ mismatches, evaluated }: Trial): boolean => {
      if (mismatches.length === 0 && at.evaluated !== undefined && evaluated !== undefined)
        addEvaluated(at.evaluated, evaluated);
      return mismatches.length === 0;
    };
    let isMatch = true;
    for (const part of list(schema['allOf'])) if (!this.#apply({ file, value: part }, value, at)) isMatch = false;
    const [anyOf = [], oneOf = []] = ['anyOf', 'oneOf'].map((name) => alternatives(schema, name, value));
    at.budget.charge((anyOf.length + oneOf.length) * VALUE_UNITS);
    if (anyOf.length > 0) {
      const trials = anyOf.map(applied);
      if (trials.map(keep).every((matches) => !matches)) isMatch = noteNearest(at, trials);
    }
    if (oneOf.length > 0) {
      const trials = oneOf.map(applied);
      const matching = trials.filter(({ mismatches }) => mismatches.length === 0);
      if (matching.length === 1) matching.forEach(keep);
      else if (matching.length === 0) isMatch = noteNearest(at, trials);
      else isMatch = note(at, `must match one of the schemas in oneOf, but matches ${matching.length}`);
    }
    if (Object.hasOwn(schema, 'not') && applied(schema['not']).mismatches.length === 0)
      isMatch = note(at, 'matches a schema that it must not match');
    if (Object.hasOwn(schema, 'if')) {
      const branch = schema[keep(applied(schema['if'])) ? 'then' : 'else'];
      if (branch !== undefined && !this.#apply({ file, value: branch }, value, at)) isMatch = false;
    }
    return isMatch;
  }

  #try(place: Place, value: unknown, at: At): Trial {
    const trial = { mismatches: [], evaluated: at.evaluated === undefined ? undefined : newEvaluated() };
    this.#apply(place, value, { ...at, found: trial.mismatches, evaluated: trial.evaluated });
    return trial;
  }

  #checkText(file: string, schema: Schema, value: string, at: At): boolean {
    const { minLength, maxLength, pattern, format } = schema;
    at.budget.charge(value.length / CHARACTERS_PER_UNIT);
    let isMatch = true;
    if (typeof minLength === 'number' || typeof maxLength === 'number') {
      const length = characterCount(value);
      if (isBelow(length, minLength))
        isMatch = note(at, `must have ${String(minLength)} characters or more, but has ${length}`);
      if (isAbove(length, maxLength))
        isMatch = note(at, `must have ${String(maxLength)} characters or fewer, but has ${length}`);
    }
    if (typeof pattern === 'string' && !this.#matchesPattern(file, pattern, value, at))
      isMatch = note(at, `must match the pattern ${shortened(pattern)}`);
    if (typeof format === 'string' && !isInFormat(value, format))
      isMatch = note(at, `must be in the format ${shortened(format)}`);
    return isMatch;
  }

  /** True if the pattern cannot be checked, with a warning. */
  #matchesPattern(file: string, pattern: string, text: string, at: At): boolean {
    let parsed = this.#patterns.get(pattern);
    if (parsed === undefined) {
      parsed =
        pattern.length > PATTERN_CHARS_MAX
          ? { ok: false, message: `has more than ${PATTERN_CHARS_MAX} characters` }
          : parseRegularExpression(inRe2Syntax(pattern));
      this.#patterns.set(pattern, parsed);
      if (!parsed.ok)
        this.#warn(
          `${this.#files.shown(file)}: the pattern ${JSON.stringify(shortened(pattern))} is not checked: it ${parsed.message}`,
        );
    }
    return !parsed.ok || parsed.expression.automaton.matchesPart(text, at.budget);
  }

  #checkArray(file: string, schema: Schema, value: readonly unknown[], at: At): boolean {
    const { minItems, maxItems, uniqueItems, items } = schema;
    at.budget.charge(value.length * VALUE_UNITS);
    let isMatch = true;
    if (isBelow(value.length, minItems))
      isMatch = note(at, `must have ${String(minItems)} elements or more, but has ${value.length}`);
    if (isAbove(value.length, maxItems))
      isMatch = note(at, `must have ${String(maxItems)} elements or fewer, but has ${value.length}`);
    if (uniqueItems === true && value.length > 1) {
      const different = new Set(value.map((item) => canonicalText(item, at.budget)));
      if (different.size < value.length) isMatch = note(at, 'must have different elements, but has equal ones');
    }
    const prefix = list(schema['prefixItems']);
    const rest = Object.hasOwn(schema, 'items') ? { file, value: items } : undefined;
    for (const [index, item] of value.entries()) {
      const place = index < prefix.length ? { file, value: prefix[index] } : rest;
      if (place === undefined) break;
      if (!this.#apply(place, item, inside(at, `[${index}]`))) isMatch = false;
      at.evaluated?.items.add(index);
    }
    return this.#checkContains(file, schema, value, at) && isMatch;
  }

  #checkContains(file: string, schema: Schema, value: readonly unknown[], at: At): boolean {
    if (!Object.hasOwn(schema, 'contains')) return true;
    const { contains, minContains = 1, maxContains } = schema;
    const matching = value.flatMap((item, index) =>
      this.#try({ file, value: contains }, item, inside(at, `[${index}]`)).mismatches.length === 0 ? [index] : [],
    );
    for (const index of matching) at.evaluated?.items.add(index);
    if (isBelow(matching.length, minContains) || isAbove(matching.length, maxContains))
      return note(at, `has ${matching.length} elements that match contains, which is too few or too many`);
    return true;
  }

  #checkObject(file: string, schema: Schema, value: Schema, at: At): boolean {
    const names = Object.keys(value);
    at.budget.charge(names.length * VALUE_UNITS);
    const { minProperties, maxProperties } = schema;
    let isMatch = this.#checkRequired(file, schema, value, at);
    if (isBelow(names.length, minProperties))
      isMatch = note(at, `must have ${String(minProperties)} members or more, but has ${names.length}`);
    if (isAbove(names.length, maxProperties))
      isMatch = note(at, `must have ${String(maxProperties)} members or fewer, but has ${names.length}`);
    const properties = record(schema['properties']);
    const patterns = Object.entries(record(schema['patternProperties']));
    const [hasAdditional, hasNames] = [
      Object.hasOwn(schema, 'additionalProperties'),
      Object.hasOwn(schema, 'propertyNames'),
    ];
    for (const name of names) {
      const member = inside(at, memberStep(name));
      const apply = (part: unknown): void => {
        at.evaluated?.properties.add(name);
        if (!this.#apply({ file, value: part }, ownMember(value, name), member)) isMatch = false;
      };
      const declared = ownMember(properties, name);
      if (declared !== undefined) {
        if (!this.#checkDirection({ file, value: declared }, member)) isMatch = false;
        apply(declared);
      }
      at.budget.charge(patterns.length * VALUE_UNITS);
      const fitting = patterns.filter(([pattern]) => this.#matchesPattern(file, pattern, name, at));
      for (const [, part] of fitting) apply(part);
      if (hasAdditional && declared === undefined && fitting.length === 0) {
        if (schema['additionalProperties'] === false) isMatch = note(member, 'is not in the contract');
        else apply(schema['additionalProperties']);
      }
      if (hasNames && this.#try({ file, value: schema['propertyNames'] }, name, member).mismatches.length > 0)
        isMatch = note(member, 'has a name that does not match propertyNames');
    }
    return isMatch;
  }

  #checkRequired(file: string, schema: Schema, value: Schema, at: At): boolean {
    let isMatch = true;
    const require = (name: string, why: string): void => {
      at.budget.charge(VALUE_UNITS);
      if (Object.hasOwn(value, name)) return;
      const property = this.property({ file, value: schema }, name, at.budget);
      if (property !== undefined && this.#isOtherDirection(property, at)) return;
      isMatch = note(inside(at, memberStep(name)), why);
    };
    for (const name of textList(schema['required'])) require(name, 'is required, but is absent');
    for (const [name, needed] of Object.entries(record(schema['dependentRequired'])))
      if (Object.hasOwn(value, name))
        for (const one of textList(needed)) require(one, `is required with ${shortened(name)}, but is absent`);
    for (const [name, part] of Object.entries(record(schema['dependentSchemas'])))
      if (Object.hasOwn(value, name) && !this.#apply({ file, value: part }, value, at)) isMatch = false;
    return isMatch;
  }

  #checkDirection(declared: Place, at: At): boolean {
    if (!this.#isOtherDirection(declared, at)) return true;
    return note(
      at,
      at.direction === 'request' ? 'is read-only, but is in the request' : 'is write-only, but is in the response',
    );
  }

  /** Whether a property is only for responses (readOnly) in a request, or the other way around. */
  #isOtherDirection(declared: Place, at: At): boolean {
    const name = at.direction === 'request' ? 'readOnly' : 'writeOnly';
    return [declared, this.#files.follow(declared)].some(({ value }) => record(value)[name] === true);
  }

  #checkUnevaluated(file: string, schema: Schema, value: unknown, at: At): boolean {
    const check = (keyword: string, key: string | number, inner: unknown, step: string): boolean => {
      if (!Object.hasOwn(schema, keyword)) return true;
      const place = { file, value: ownMember(schema, keyword) };
      const member = inside(at, step);
      if (typeof key === 'number') at.evaluated?.items.add(key);
      else at.evaluated?.properties.add(key);
      return place.value === false ? note(member, 'is not in the contract') : this.#apply(place, inner, member);
    };
    const { properties, items } = at.evaluated ?? newEvaluated();
    const known = { properties: new Set(properties), items: new Set(items) };
    if (Array.isArray(value))
      return value
        .map((item: unknown, index) => known.items.has(index) || check('unevaluatedItems', index, item, `[${index}]`))
        .every((isMatch) => isMatch);
    if (!isRecord(value)) return true;
    return Object.entries(value)
      .map(
        ([name, inner]) => known.properties.has(name) || check('unevaluatedProperties', name, inner, memberStep(name)),
      )
      .every((isMatch) => isMatch);
  }
}

/** Where a check is. */
interface At extends CheckOptions {
  readonly path: string;
  readonly depth: number;
  /** What the schemas of this value have looked at. Undefined if nothing asks for it. */
  readonly evaluated: Evaluated | undefined;
}

interface Evaluated {
  readonly properties: Set<string>;
  readonly items: Set<number>;
}
const newEvaluated = (): Evaluated => ({ properties: new Set(), items: new Set() });
const addEvaluated = (into: Evaluated, from: Evaluated): void => {
  for (const name of from.properties) into.properties.add(name);
  for (const index of from.items) into.items.add(index);
};

interface Trial {
  readonly mismatches: Mismatch[];
  readonly evaluated: Evaluated | undefined;
}

const note = ({ found, path }: At, message: string): false => {
  if (found.length < MISMATCHES_MAX) found.push({ path, message });
  return false;
};

const inside = (at: At, step: string): At => ({
  ...at,
  path: at.path + step,
  depth: at.depth + 1,
  evaluated: undefined,
});

/** Notes the mismatches of the alternative that goes deepest into the value, which is most likely the one that was meant. */
const noteNearest = (at: At, trials: readonly Trial[]): false => {
  const depth = ({ mismatches }: Trial): number => Math.min(...mismatches.map(({ path }) => path.length));
  const [nearest] = trials.toSorted((a, b) => depth(b) - depth(a) || a.mismatches.length - b.mismatches.length);
  if (trials.length > 1 && nearest !== undefined && depth(nearest) === at.path.length)
    return note(at, `matches none of ${trials.length} schemas: ${nearest.mismatches[0]?.message ?? ''}`);
  for (const mismatch of nearest?.mismatches ?? []) note({ ...at, path: mismatch.path }, mismatch.message);
  return false;
};

/** Returns the schemas of `anyOf` or `oneOf`, or only the one that the discriminator names for the value. */
const alternatives = (schema: Schema, keyword: string, value: unknown): readonly unknown[] => {
  const all = list(ownMember(schema, keyword));
  const { propertyName, mapping } = record(schema['discriminator']);
  const name = isRecord(value) && typeof propertyName === 'string' ? ownMember(value, propertyName) : undefined;
  if (typeof name !== 'string') return all;
  const target = ownMember(record(mapping), name) ?? name;
  const named = all.find((part) => {
    const reference = ownMember(record(part), '$ref');
    // A name is that of a schema in the components.
    return reference === target || (typeof reference === 'string' && reference.split('/').at(-1) === target);
  });
  return named === undefined ? all : [named];
};

const memberStep = (name: string): string => (/^[A-Za-z_]\w*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`);

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);
const record = (value: unknown): Schema => (isRecord(value) ? value : {});
const textList = (value: unknown): readonly string[] =>
  (Array.isArray(value) ? (value as unknown[]) : [value]).filter((one) => typeof one === 'string');

/** Without a type, the constants of a schema have one. */
const allowedTypes = (schema: Schema): readonly string[] => {
  const types = textList(schema['type']);
  if (types.length > 0) return types;
  return [...list(schema['enum']), ...(Object.hasOwn(schema, 'const') ? [schema['const']] : [])].map(valueType);
};

const valueType = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);
const isOfType = (value: unknown, type: string): boolean =>
  type === 'integer' ? Number.isInteger(value) : valueType(value) === type;
const typeText = (type: string): string => (type === 'null' ? 'null' : `${/^[aeio]/.test(type) ? 'an' : 'a'} ${type}`);

const shownConstant = (value: unknown): string => shortened(JSON.stringify(value));

const isBelow = (count: number, min: unknown): boolean => typeof min === 'number' && count < min;
const isAbove = (count: number, max: unknown): boolean => typeof max === 'number' && count > max;

/** The bounds of OpenAPI 3.0 are exclusive if a flag beside them is true. */
const checkNumber = (schema: Schema, value: number, at: At): boolean => {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, format } = schema;
  let isMatch = true;
  if (isBelow(value, minimum) || (exclusiveMinimum === true && value === minimum))
    isMatch = note(at, `must be ${exclusiveMinimum === true ? 'more than' : 'at least'} ${String(minimum)}`);
  if (isAbove(value, maximum) || (exclusiveMaximum === true && value === maximum))
    isMatch = note(at, `must be ${exclusiveMaximum === true ? 'less than' : 'at most'} ${String(maximum)}`);
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum)
    isMatch = note(at, `must be more than ${exclusiveMinimum}`);
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum)
    isMatch = note(at, `must be less than ${exclusiveMaximum}`);
  if (typeof multipleOf === 'number' && multipleOf > 0 && !isMultiple(value, multipleOf))
    isMatch = note(at, `must be a multiple of ${multipleOf}`);
  if (typeof format === 'string' && !isInFormat(value, format))
    isMatch = note(at, `must be in the format ${shortened(format)}`);
  return isMatch;
};

/** Divides decimal fractions as they are written, because a quotient of numbers is rarely exact. */
const isMultiple = (value: number, of: number): boolean => {
  if (!Number.isFinite(value) || !Number.isFinite(of)) return false;
  const [dividend, divisor] = [toDecimal(value), toDecimal(of)];
  const least = Math.min(dividend.exponent, divisor.exponent);
  const scaled = ({ digits, exponent }: Decimal): bigint => digits * 10n ** BigInt(exponent - least);
  return scaled(dividend) % scaled(divisor) === 0n;
};

/** A number is `digits` times ten to the power of `exponent`. */
interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}
const toDecimal = (value: number): Decimal => {
  const [digits = '', power = ''] = value.toExponential().split('e');
  const [, fraction = ''] = digits.split('.');
  return { digits: BigInt(digits.replace('.', '')), exponent: Number(power) - fraction.length };
};

const characterCount = (text: string): number => {
  let count = 0;
  for (let at = 0; at < text.length; at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1) count += 1;
  return count;
};

/** Values are equal regardless of the order of members, as in JSON Schema. */
const isEqual = (a: unknown, b: unknown, budget: Budget): boolean => {
  budget.charge(VALUE_UNITS);
  if (typeof a !== 'object' || a === null || typeof b !== 'object' || b === null) return a === b;
  return canonicalText(a, budget) === canonicalText(b, budget);
};

const canonicalText = (value: unknown, budget: Budget, depth = 0): string => {
  budget.charge(VALUE_UNITS);
  if (depth > DEPTH_MAX) throw new BudgetExhausted('the value is nested too deeply');
  if (typeof value === 'string') budget.charge(value.length / CHARACTERS_PER_UNIT);
  if (Array.isArray(value)) return `[${value.map((item) => canonicalText(item, budget, depth + 1)).join()}]`;
  if (!isRecord(value)) return JSON.stringify(value === 0 ? 0 : value);
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalText(ownMember(value, name), budget, depth + 1)}`);
  return `{${members.join()}}`;
};

/** ECMAScript writes the code of a character in another way. */
const inRe2Syntax = (pattern: string): string =>
  pattern.replaceAll(/\\(?:u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]+)\}|.)/gs, (whole, four?: string, many?: string) => {
    const code = four ?? many;
    return code === undefined ? whole : `\\x{${code}}`;
  });
