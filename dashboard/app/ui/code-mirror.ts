import { json, jsonParseLinter } from '@codemirror/lang-json';
import { yaml } from '@codemirror/lang-yaml';
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { linter, setDiagnostics } from '@codemirror/lint';
import { Compartment, EditorState, type Extension } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { basicSetup } from 'codemirror';

/** A language to highlight. `text` is not highlighted. */
export type CodeLanguage = 'json' | 'yaml' | 'text';

export interface CodeMirrorOptions {
  readonly parent: HTMLElement;
  readonly text: string;
  readonly language: CodeLanguage;
  readonly readOnly: boolean;
  /** Attributes of the text box, such as its label and description. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly nonce: string;
  readonly onChange: (text: string) => void;
}

/** A problem at a line, which starts at 1. */
export interface LineMark {
  readonly line: number;
  readonly message: string;
}

export interface CodeMirror {
  /** Replaces the text and keeps the scroll position. */
  setText(text: string): void;
  setLanguage(language: CodeLanguage): void;
  /** Adds attributes to the text box, instead of those of the previous call. */
  setAttributes(attributes: Readonly<Record<string, string>>): void;
  /** Underlines these lines until the text changes there. */
  setMarks(marks: readonly LineMark[]): void;
  focus(): void;
  close(): void;
}

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--get)' },
  { tag: [tags.string, tags.content], color: 'var(--2xx)' },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: 'var(--none)' },
  { tag: [tags.keyword, tags.typeName, tags.meta], color: 'var(--3xx)' },
  { tag: tags.comment, color: 'var(--muted)' },
  { tag: tags.invalid, color: 'var(--5xx)' },
]);

const look = EditorView.theme({
  '&': { backgroundColor: 'var(--page)', color: 'var(--text)', fontSize: '12px' },
  '.cm-scroller': { fontFamily: 'var(--font-mono)', lineHeight: '18px' },
  '.cm-content': { caretColor: 'var(--text)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-gutters': { backgroundColor: 'var(--panel)', color: 'var(--muted)', border: 'none' },
  '.cm-activeLine': { backgroundColor: 'transparent' },
  '.cm-activeLineGutter': { backgroundColor: 'transparent' },
  '&.cm-focused .cm-activeLineGutter': { backgroundColor: 'var(--hover)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--selected)',
  },
  '.cm-tooltip': { backgroundColor: 'var(--raised)', border: '1px solid var(--line)', color: 'var(--text)' },
  '.cm-panels': { backgroundColor: 'var(--panel)', color: 'var(--text)' },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--selected)' },
});

/** Reports JSON errors, but accepts an empty body. */
const jsonLinter = linter((view) => (view.state.doc.length === 0 ? [] : jsonParseLinter()(view)));

const languageExtension = (language: CodeLanguage, readOnly: boolean): Extension => {
  switch (language) {
    case 'json':
      return [json(), ...(readOnly ? [] : [jsonLinter])];
    case 'yaml':
      return yaml();
    case 'text':
      return [];
  }
};

export const openCodeMirror = (options: CodeMirrorOptions): CodeMirror => {
  const { parent, text, language, readOnly, attributes, nonce, onChange } = options;
  const highlighting = new Compartment();
  const added = new Compartment();
  const extensions: Extension[] = [
    basicSetup,
    look,
    syntaxHighlighting(colours),
    EditorView.cspNonce.of(nonce),
    EditorView.contentAttributes.of({ ...attributes }),
    added.of([]),
    EditorView.lineWrapping,
    EditorState.readOnly.of(readOnly),
    EditorView.updateListener.of((update) => {
      if (update.docChanged && !readOnly) onChange(update.state.doc.toString());
    }),
    highlighting.of(languageExtension(language, readOnly)),
  ];
  const view = new EditorView({ parent, state: EditorState.create({ doc: text, extensions }) });
  return {
    setText: (next) => {
      if (next === view.state.doc.toString()) return;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } });
    },
    setLanguage: (next) => view.dispatch({ effects: highlighting.reconfigure(languageExtension(next, readOnly)) }),
    setAttributes: (next) =>
      view.dispatch({ effects: added.reconfigure(EditorView.contentAttributes.of({ ...next })) }),
    setMarks: (marks) => {
      const diagnostics = marks.map(({ line, message }) => {
        const { from, to } = view.state.doc.line(Math.min(line, view.state.doc.lines));
        return { from, to, message, severity: 'error' as const };
      });
      view.dispatch(setDiagnostics(view.state, diagnostics));
    },
    focus: () => view.focus(),
    close: () => view.destroy(),
  };
};
