import { forwardRef, type ButtonHTMLAttributes } from 'react';
import { classNames } from './class-names.ts';

export type ButtonLook = 'primary' | 'secondary' | 'ghost' | 'danger';

const LOOKS: Readonly<Record<ButtonLook, string>> = {
  primary: 'bg-accent text-on-accent border-transparent hover:bg-accent-strong font-medium',
  secondary: 'bg-raised text-text border-control hover:bg-hover',
  ghost: 'bg-transparent text-muted border-transparent hover:bg-hover hover:text-text',
  danger: 'bg-raised text-5xx border-5xx hover:bg-5xx-chip font-medium',
};

/** Returns the CSS classes for a button, or for a link that looks like one. */
export const buttonClass = (look: ButtonLook = 'secondary', extra?: string): string =>
  classNames(
    'inline-flex h-7 shrink-0 items-center justify-center gap-1.5 rounded border px-2.5 text-ui whitespace-nowrap select-none disabled:opacity-60 [&_svg]:size-3.5 [&_svg]:shrink-0',
    LOOKS[look],
    extra,
  );

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly look?: ButtonLook;
}

/** A button. Takes a ref, so that a menu can be positioned next to it. */
export const Button = forwardRef<HTMLButtonElement, ButtonProps>(
  ({ look = 'secondary', type = 'button', className, ...rest }, ref) => (
    <button ref={ref} type={type} className={buttonClass(look, className)} {...rest} />
  ),
);
Button.displayName = 'Button';
