import { engineException } from './engine-exception.ts';
import { sqlTokens, type Token } from './tokens.ts';

/** Determines which statements the engine accepts. */
export interface StatementRules {
  /** The names of all the engine's table functions, in lower case. */
  readonly tableFunctions: ReadonlySet<string>;
  /**
   * Whether the user gave a configuration file, which may define servers. If so, cluster functions and Distributed tables are
   * allowed.
   */
  readonly hasClusters: boolean;
}

/** A statement that passed the check. */
export interface CheckedStatement {
  /** Whether the statement changes nothing, so that GET may send it. */
  readonly isRead: boolean;
  /**
   * The text from the first to the last token, without comments around it. Next to a semicolon, ClickHouse's client treats only the
   * first line of a comment as a comment, and the following lines as statements.
   */
  readonly text: string;
  /** Set for an insert that names the format of its data. The text after the format's name is data, not SQL. */
  readonly insert?: InsertHead;
}

export interface InsertHead {
  /** The position of the first word. */
  readonly start: number;
  /** The position for `FROM INFILE`, which is before SETTINGS and FORMAT. */
  readonly fileAt: number;
  /** The position after the format name. */
  readonly end: number;
}

const READS = ['SELECT', 'WITH', 'SHOW', 'DESCRIBE', 'DESC', 'EXISTS', 'EXPLAIN'];
/** Statements that write, with the words that may follow. An empty list allows any word. */
const WRITES: Readonly<Record<string, readonly string[]>> = {
  INSERT: [],
  CREATE: ['DATABASE', 'TABLE', 'VIEW'],
  DROP: ['DATABASE', 'TABLE', 'VIEW'],
  ALTER: ['TABLE'],
  RENAME: ['TABLE'],
  TRUNCATE: [],
  OPTIMIZE: [],
  DELETE: [],
  UPDATE: [],
};
/** Other ClickHouse statements, which are refused with ACCESS_DENIED. A first word that is in no list is a syntax error. */
const REFUSED = [
  ...['ATTACH', 'BACKUP', 'CHECK', 'COPY', 'DETACH', 'EXCHANGE', 'EXECUTE', 'FROM', 'GRANT', 'KILL', 'MOVE', 'RESTORE'],
  ...['REVOKE', 'SET', 'SYSTEM', 'UNDROP', 'USE', 'WATCH'],
];
const CREATE_MODIFIERS = ['OR', 'REPLACE', 'TEMPORARY', 'MATERIALIZED'];
const EXPLAIN_WORDS = ['AST', 'SYNTAX', 'QUERY', 'TREE', 'PLAN', 'PIPELINE', 'ESTIMATE'];
/** The maximum number of tokens that `checkKind` sees. Enough for the words and settings at the start of a statement. */
const HEAD_TOKENS_MAX = 100;

/** Table functions that compute values or read this engine's tables. */
const TABLE_FUNCTIONS: ReadonlySet<string> = new Set([
  ...['numbers', 'numbers_mt', 'zeros', 'zeros_mt', 'primes', 'generateseries', 'generate_series'],
  ...['view', 'merge', 'mergetreeindex'],
]);
/**
 * Table functions that take columns as text, or data in the format Values. Such text can contain SQL: `x String ALIAS
 * file('/etc/passwd')`.
 */
const SQL_IN_TEXT: ReadonlySet<string> = new Set(['format', 'generaterandom', 'null', 'values']);
const CLUSTER_FUNCTIONS: ReadonlySet<string> = new Set(['cluster', 'clusterallreplicas']);
/**
 * Functions that read files, run models or call other servers. They are refused wherever their names appear, as in `arrayMap(file,
 * …)` and `* APPLY(file)`. The two `structureTo…` functions compute the defaults of the columns that they accept as text.
 */
const FUNCTIONS_REFUSED: ReadonlySet<string> = new Set([
  ...['file', 'catboostevaluate', 'aiclassify', 'aiembed', 'aiextract', 'aigenerate', 'aitranslate'],
  ...['structuretocapnprotoschema', 'structuretoprotobufschema'],
]);
const ENGINES =
  /^((Aggregating|Coalescing|Collapsing|Graphite|Replacing|Summing|VersionedCollapsing)?MergeTree|Memory|Log|TinyLog|StripeLog|Null|Set|Join|Merge|Buffer|Atomic)$/;
const CLUSTER_ENGINES = /^(Distributed|Replicated[A-Za-z]*MergeTree)$/;

const isWord = (token: Token | undefined, ...words: readonly string[]): boolean =>
  token?.kind === 'word' && words.includes(token.text.toUpperCase());
const isSign = (token: Token | undefined, sign: string): boolean => token?.kind === 'sign' && token.text === sign;
const isName = (token: Token | undefined): token is Token => token?.kind === 'word' || token?.kind === 'name';

const denied = (message: string): Error => engineException(497, 'ACCESS_DENIED', message);
const malformed = (message: string): Error => engineException(62, 'SYNTAX_ERROR', message);

/**
 * Checks that a statement stays inside the engine and reaches no file, URL, other server or program. Uses allowlists where
 * ClickHouse has many alternatives: statements, table functions, engines. Throws an `EngineException` with a message for the
 * author of the statement.
 */
export const checkStatement = (sql: string, rules: StatementRules): CheckedStatement => {
  const head: Token[] = [];
  const checks = [checkValues(sql), checkWord(rules), checkEngine(rules), checkMain()];
  const insert = findInsert();
  let depth = 0;
  let end = 0;
  let previous: Token | undefined;
  for (const token of sqlTokens(sql)) {
    if (isSign(previous, ';')) throw malformed('Send one statement at a time');
    if (head.length < HEAD_TOKENS_MAX) head.push(token);
    for (const check of checks) check(token, previous, depth);
    if (isSign(token, '(')) depth += 1;
    if (isSign(token, ')')) depth -= 1;
    const found = isWord(head[0], 'INSERT') && depth === 0 ? insert(token, previous) : undefined;
    const start = head[0]?.start ?? 0;
    if (found !== undefined) return { isRead: false, text: sql.slice(start, found.end), insert: { start, ...found } };
    if (!isSign(token, ';')) end = token.end;
    previous = token;
  }
  return { isRead: checkKind(head), text: sql.slice(head[0]?.start, end) };
};

type TokenCheck = (token: Token, previous: Token | undefined, depth: number) => void;

/**
 * Refuses the table functions in `SQL_IN_TEXT`, but accepts the VALUES of an INSERT. Refuses comments and quoted names after that
 * VALUES, because ClickHouse reads the data with a parser that differs from its lexer.
 */
const checkValues = (sql: string): TokenCheck => {
  let mayInsert: boolean | undefined;
  let values: Token | undefined;
  return (token, previous, depth) => {
    mayInsert = (mayInsert ?? isWord(token, 'INSERT')) && !isWord(token, 'SELECT', 'WITH', 'FROM', 'FUNCTION');
    const isBetween = values !== undefined && /\S/.test(sql.slice(previous?.end, token.start));
    if (isBetween || (values !== undefined && token.kind === 'name'))
      throw denied('Comments and quoted names after VALUES are not allowed; remove them');
    if (mayInsert && depth === 0 && isWord(token, 'VALUES')) values ??= token;
    if (!isSign(token, '(') || !isName(previous) || previous === values) return;
    if (!SQL_IN_TEXT.has(previous.text.toLowerCase())) return;
    throw denied(
      `${previous.text}() is not allowed, because its text arguments can contain SQL that is not checked here`,
    );
  };
};

const checkWord =
  ({ tableFunctions, hasClusters }: StatementRules): TokenCheck =>
  (token, previous) => {
    if (isWord(token, 'OUTFILE', 'INFILE')) {
      const advice = 'read the response or send the data in the body';
      throw denied(
        `${token.text} is not allowed, because the embedded engine does not allow access to files; ${advice}`,
      );
    }
    if (isWord(token, 'WITH') && isWord(previous, 'PARALLEL')) throw malformed('Send one statement at a time');
    if (isName(token) && FUNCTIONS_REFUSED.has(token.text.toLowerCase())) {
      const reason = 'the embedded engine does not allow access to files or models';
      throw denied(`${token.text} is not allowed, because ${reason}; a column cannot have this name here`);
    }
    if (!isSign(token, '(') || !isName(previous)) return;
    const name = previous.text.toLowerCase();
    // `disk(…)` describes a disk, which can be any folder.
    const isKnown = TABLE_FUNCTIONS.has(name) || SQL_IN_TEXT.has(name);
    const isReaching = name === 'disk' || (tableFunctions.has(name) && !isKnown);
    if (!isReaching || (hasClusters && CLUSTER_FUNCTIONS.has(name))) return;
    const reason = 'the embedded engine does not allow access to files, URLs, other servers or programs';
    throw denied(`${previous.text}() is not allowed, because ${reason}; send the data with INSERT`);
  };

/** Checks `ENGINE = Name` for a table, a view or a database. */
const checkEngine = ({ hasClusters }: StatementRules): TokenCheck => {
  let isWrite: boolean | undefined;
  let isNext = false;
  return (token, _previous, depth) => {
    isWrite ??= isWord(token, ...Object.keys(WRITES));
    if (isNext && !isSign(token, '=')) {
      isNext = false;
      if (!ENGINES.test(token.text) && !(hasClusters && CLUSTER_ENGINES.test(token.text))) {
        const advice = 'the embedded engine stores tables itself; use MergeTree, Memory or Log';
        throw denied(`ENGINE = ${token.text} is not allowed, because ${advice}`);
      }
    }
    if (isWrite && depth === 0 && isWord(token, 'ENGINE')) isNext = true;
  };
};

/** Refuses an INSERT after WITH or EXPLAIN. Such a statement begins like a read, but data may follow it. */
const checkMain = (): TokenCheck => {
  let isWith: boolean | undefined;
  let hasMain = false;
  return (token, _previous, depth) => {
    isWith ??= isWord(token, 'WITH', 'EXPLAIN');
    if (!isWith || hasMain || depth > 0 || !isWord(token, 'SELECT', 'INSERT')) return;
    if (isWord(token, 'INSERT'))
      throw denied('WITH and EXPLAIN are not allowed before INSERT; write INSERT INTO … WITH … SELECT');
    hasMain = true;
  };
};

/** Finds the end of an insert's SQL if its data follows in a format. */
const findInsert = (): ((token: Token, previous: Token | undefined) => Omit<InsertHead, 'start'> | undefined) => {
  let settings: Token | undefined;
  let hasSource = false;
  let hasFormat = false;
  return (token, previous) => {
    if (hasFormat && !isSign(token, ';')) throw malformed('Nothing may follow FORMAT in an INSERT … SELECT');
    if (isSign(previous, '.')) return undefined;
    if (isWord(token, 'SELECT', 'WITH', 'VALUES')) hasSource = true;
    if (isWord(token, 'SETTINGS')) settings = token;
    if (previous === undefined || !isWord(previous, 'FORMAT')) return undefined;
    if (isSign(token, '{')) throw malformed('The format of an INSERT cannot be a parameter');
    if (!isName(token)) return undefined;
    if (token.text.toLowerCase() === 'values') throw malformed('Write VALUES instead of FORMAT Values');
    hasFormat = true;
    return hasSource ? undefined : { fileAt: (settings ?? previous).start, end: token.end };
  };
};

/** Returns whether the statement only reads. Throws if it is of a kind that the engine does not accept. */
const checkKind = (head: readonly Token[]): boolean => {
  const start = head.findIndex((token) => !isSign(token, '('));
  const first = head[start];
  if (first === undefined) throw malformed('Empty query');
  if (isWord(first, ...(start === 0 ? READS : ['SELECT', 'WITH']))) {
    if (isWord(first, 'EXPLAIN')) checkExplained(head.slice(1));
    return true;
  }
  const kind = first.kind === 'word' ? first.text.toUpperCase() : '';
  const objects = start === 0 && Object.hasOwn(WRITES, kind) ? WRITES[kind] : undefined;
  if (objects === undefined) {
    const message = `${first.text} is not allowed; the embedded engine accepts ${[...READS, ...Object.keys(WRITES)].join(', ')}`;
    throw isWord(first, ...REFUSED) ? denied(message) : malformed(message);
  }
  const object = head.slice(1).find((token) => !isWord(token, ...CREATE_MODIFIERS));
  if (objects.length > 0 && !isWord(object, ...objects)) {
    throw denied(
      `${kind} ${object?.text ?? ''} is not allowed; the embedded engine accepts ${kind} ${objects.join(', ')}`,
    );
  }
  return false;
};

const checkExplained = (tokens: readonly Token[]): void => {
  let at = 0;
  while (isWord(tokens[at], ...EXPLAIN_WORDS)) at += 1;
  while (isSign(tokens[at + 1], '=')) at += isSign(tokens[at + 3], ',') ? 4 : 3;
  while (isSign(tokens[at], '(')) at += 1;
  if (!isWord(tokens[at], 'SELECT', 'WITH')) throw denied('EXPLAIN is only allowed before SELECT and WITH');
};
