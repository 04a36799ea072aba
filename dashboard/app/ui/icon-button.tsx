import { forwardRef, type ButtonHTMLAttributes } from 'react';
import { classNames } from './class-names.ts';

export interface IconButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  /** Describes what the button does, because an icon has no text. */
  readonly label: string;
}

/** An icon button. Takes a ref and any props, so that menus and dialogs can use it as their trigger. */
export const IconButton = forwardRef<HTMLButtonElement, IconButtonProps>(
  ({ label, className, type = 'button', ...rest }, ref) => (
    <button
      ref={ref}
      type={type}
      aria-label={label}
      title={label}
      className={classNames(
        'inline-flex size-7 shrink-0 items-center justify-center rounded text-muted hover:bg-hover hover:text-text [&_svg]:size-4',
        className,
      )}
      {...rest}
    />
  ),
);
IconButton.displayName = 'IconButton';
