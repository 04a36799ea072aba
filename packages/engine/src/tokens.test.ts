import { describe, expect, test } from 'vitest';
import { sqlTokens } from './tokens.ts';

const kindsAndTexts = (sql: string): string[] => [...sqlTokens(sql)].map(({ kind, text }) => `${kind} ${text}`);

describe('sqlTokens', () => {
  test.for([
    ['words and signs', 'SELECT a.b', ['word SELECT', 'word a', 'sign .', 'word b']],
    ['comments as whitespace', 'a/**/b -- c\nd /* "x */', ['word a', 'word b', 'word d']],
    ['a comment at the end', 'a --', ['word a']],
    ['a string', "'it''s \\' -- /* ' x", ["string it''s \\' -- /* ", 'word x']],
    ['names in either kind of quotes', '"a""b" `c``d`', ['name a"b', 'name c`d']],
    ['a bit string', "x'4a' b'01' xx'4'", ["string x'4a'", "string b'01'", 'word xx', 'string 4']],
    ['numbers', '1e-5 .5 0x1p-3 1-1', ['number 1e-5', 'number .5', 'number 0x1p-3', 'number 1', 'sign -', 'number 1']],
    ['a comment directly after a number', '1--x\n2', ['number 1', 'number 2']],
    ['an arrow', 'x->y', ['word x', 'sign -', 'sign >', 'word y']],
  ] as const)('reads %s', ([, sql, tokens]) => {
    expect(kindsAndTexts(sql)).toEqual(tokens);
  });

  test('returns the position of each token', () => {
    expect([...sqlTokens(" 'a''b' c")].map(({ start, end }) => [start, end])).toEqual([
      [1, 7],
      [8, 9],
    ]);
  });

  test.for([
    ['a heredoc', 'SELECT $$x$$'],
    ['a comment of two slashes', 'SELECT 1 // x'],
    ['a comment after #', 'SELECT 1 # x'],
    ['a nested comment', '/* a /* b */ c */ SELECT 1'],
    ['typographic quotes', 'SELECT ‘x’'],
    ['a backslash in a name', 'SELECT `fi\\x6ce`(1)'],
    ['a backslash elsewhere', 'SELECT 1\\G'],
    ['a hexadecimal string that contains something else', "SELECT x'41\\' INTO OUTFILE '"],
    ['a number with an incomplete exponent', "SELECT 1e--file('x')"],
    ['an unclosed string', "SELECT 'x"],
    ['a string that ends in an escape', "SELECT 'x\\"],
    ['an unclosed name', 'SELECT `x'],
    ['an unclosed comment', 'SELECT 1 /* x'],
    ['NUL', "SELECT 'a\0b'"],
  ])('refuses %s', ([, sql]) => {
    expect(() => [...sqlTokens(sql ?? '')]).toThrow(/^Code: 62\. .*\(position \d+\) \(SYNTAX_ERROR\)$/);
  });

  test('takes time in proportion to the length of the text', () => {
    const cpuUs = (sql: string): number => {
      const before = process.cpuUsage();
      expect([...sqlTokens(sql)].length).toBeGreaterThan(0);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    for (const piece of ["'a''b' ", '/* x */ a ', 'a -- x\n', 'a.b(1e-5) ', "'\\\\' "]) {
      cpuUs(piece.repeat(5_000));
      const [once, eightfold] = [cpuUs(piece.repeat(5_000)), cpuUs(piece.repeat(40_000))];
      expect(eightfold, piece).toBeLessThan(once * 40 + 50_000);
    }
  });
});
