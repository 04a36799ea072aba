import type { InputHTMLAttributes, Ref, SelectHTMLAttributes, TextareaHTMLAttributes } from 'react';
import { classNames } from './class-names.ts';
import { useFieldProps } from './field.tsx';

const CONTROL =
  'w-full min-w-0 rounded border border-control bg-page px-2 text-ui text-text aria-invalid:border-5xx disabled:bg-panel disabled:text-muted read-only:bg-panel';

export interface InputProps extends InputHTMLAttributes<HTMLInputElement> {
  /** True for text that machines read, such as a path, a name or a URL. Browsers do not correct or complete it. */
  readonly mono?: boolean;
  readonly inputRef?: Ref<HTMLInputElement>;
}

/** A text input. Outside of a `Field`, it needs an `aria-label`. */
export const Input = ({ mono = false, className, inputRef, ...rest }: InputProps) => (
  <input
    ref={inputRef}
    className={classNames(CONTROL, 'h-7', mono && 'font-mono text-small', className)}
    {...(mono && { spellCheck: false, autoCapitalize: 'off', autoComplete: 'off' })}
    {...useFieldProps()}
    {...rest}
  />
);

export interface TextareaProps extends TextareaHTMLAttributes<HTMLTextAreaElement> {
  readonly textareaRef?: Ref<HTMLTextAreaElement>;
}

export const Textarea = ({ className, textareaRef, ...rest }: TextareaProps) => (
  <textarea
    ref={textareaRef}
    spellCheck={false}
    className={classNames(CONTROL, 'py-1.5 font-mono text-small', className)}
    {...useFieldProps()}
    {...rest}
  />
);

/** The browser's own select control, which is accessible and works without JavaScript. */
export const Select = ({ className, ...rest }: SelectHTMLAttributes<HTMLSelectElement>) => (
  <select className={classNames(CONTROL, 'h-7 pr-1', className)} {...useFieldProps()} {...rest} />
);
