import { useEffect, useRef, useState } from 'react';
import { cspNonce } from './nonce.ts';
import { classNames } from './class-names.ts';
import type { CodeLanguage, CodeMirror, LineMark, openCodeMirror } from './code-mirror.ts';
import { useFieldProps } from './field.tsx';
import { Textarea } from './input.tsx';
import { useHydrated } from './time.tsx';

/**
 * Loads the editor's code, which is larger than the rest of the page, and then calls `open` to create the editor in the frame.
 * Until then, and without JavaScript, the text is shown without the editor.
 */
const useCodeMirror = (open: (frame: HTMLElement, openEditor: typeof openCodeMirror) => CodeMirror) => {
  const frame = useRef<HTMLDivElement>(null);
  const editor = useRef<CodeMirror>(undefined);
  const [isOpen, setIsOpen] = useState(false);
  const [isMissing, setIsMissing] = useState(false);
  const opener = useRef(open);
  useEffect(() => {
    let closed = false;
    import('./code-mirror.ts').then(
      (module) => {
        if (closed || frame.current === null) return;
        // The editor cannot measure itself while it is hidden.
        frame.current.hidden = false;
        editor.current = opener.current(frame.current, module.openCodeMirror);
        setIsOpen(true);
      },
      () => setIsMissing(true),
    );
    return () => {
      closed = true;
      editor.current?.close();
      editor.current = undefined;
      setIsOpen(false);
    };
  }, []);
  return { frame, editor, isOpen, isMissing };
};

const FRAME =
  'overflow-hidden rounded border focus-within:outline-2 focus-within:outline-offset-2 focus-within:outline-focus';

export interface CodeEditorProps {
  /** The name of the form field. */
  readonly name: string;
  readonly label: string;
  readonly defaultValue: string;
  readonly language: CodeLanguage;
  readonly rows?: number;
  /** Whether the editor gets focus when it opens. */
  readonly isFocused?: boolean;
  /** The lines with problems. */
  readonly marks?: readonly LineMark[];
  /** Whether the editor is the main part of the page, and as high as the window allows. */
  readonly isTall?: boolean;
  /** Called with the new text when the user changes it. */
  readonly onChange?: (text: string) => void;
}

const NO_MARKS: readonly LineMark[] = [];

/** A text area that becomes an editor. The text area remains the form field, so that forms work with and without JavaScript. */
export const CodeEditor = (props: CodeEditorProps) => {
  const { name, label, defaultValue, language, rows = 12, isFocused = false, marks = NO_MARKS, isTall = false } = props;
  const { onChange } = props;
  const textarea = useRef<HTMLTextAreaElement>(null);
  const { id, ...described } = useFieldProps();
  const { frame, editor, isOpen } = useCodeMirror((parent, openEditor) =>
    openEditor({
      parent,
      text: textarea.current?.value ?? defaultValue,
      language,
      readOnly: false,
      attributes: { 'aria-label': label },
      nonce: cspNonce(),
      onChange: (text) => {
        if (textarea.current === null) return;
        textarea.current.value = text;
        textarea.current.dispatchEvent(new Event('input', { bubbles: true }));
      },
    }),
  );
  useEffect(() => editor.current?.setLanguage(language), [editor, language, isOpen]);
  useEffect(() => {
    if (isOpen && isFocused) editor.current?.focus();
  }, [editor, isOpen, isFocused]);
  useEffect(() => editor.current?.setMarks(marks), [editor, isOpen, marks]);
  const isInvalid = described['aria-invalid'] === true || marks.length > 0;
  const describedBy = described['aria-describedby'];
  useEffect(() => {
    editor.current?.setAttributes({
      ...(describedBy !== undefined && { 'aria-describedby': describedBy }),
      ...(isInvalid && { 'aria-invalid': 'true' }),
    });
  }, [editor, isOpen, describedBy, isInvalid]);
  return (
    <>
      <Textarea
        textareaRef={textarea}
        name={name}
        defaultValue={defaultValue}
        rows={rows}
        hidden={isOpen}
        onInput={({ currentTarget }) => onChange?.(currentTarget.value)}
        {...(id === undefined ? { 'aria-label': label } : { id })}
        {...described}
      />
      <div
        ref={frame}
        hidden={!isOpen}
        data-editor={isOpen ? 'open' : 'loading'}
        className={classNames(
          FRAME,
          isInvalid ? 'border-5xx' : 'border-control',
          isTall ? '[&_.cm-editor]:max-h-[70vh]' : '[&_.cm-editor]:max-h-96',
          '[&_.cm-editor]:min-h-40 [&_.cm-gutters]:min-h-40!',
        )}
      />
    </>
  );
};

export interface CodeViewProps {
  readonly label: string;
  readonly text: string;
  readonly language: CodeLanguage;
}

/**
 * The maximum number of characters to show until the editor appears. So many fill the screen and are fast to lay out. The server's
 * HTML contains the whole text.
 */
const SHOWN_BEFORE_MAX = 16_384;

/** Shows text to read and copy. The text is focusable, so that users can scroll it with the keyboard. */
export const CodeView = ({ label, text, language }: CodeViewProps) => {
  const { frame, editor, isOpen, isMissing } = useCodeMirror((parent, openEditor) =>
    openEditor({
      parent,
      text,
      language,
      readOnly: true,
      attributes: { 'aria-label': label },
      nonce: cspNonce(),
      onChange: () => undefined,
    }),
  );
  useEffect(() => editor.current?.setText(text), [editor, text, isOpen]);
  const [isFirstHtml] = useState(!useHydrated());
  const isWhole = isFirstHtml || isMissing;
  return (
    <>
      {!isOpen && (
        <pre
          tabIndex={0}
          role="region"
          aria-label={label}
          className="overflow-x-auto rounded border border-line p-2 whitespace-pre-wrap break-words"
        >
          {isWhole ? text : text.slice(0, SHOWN_BEFORE_MAX)}
        </pre>
      )}
      <div
        ref={frame}
        hidden={!isOpen}
        data-editor={isOpen ? 'open' : 'loading'}
        className={classNames(FRAME, 'border-line')}
      />
    </>
  );
};
