import { Tooltip as Radix } from 'radix-ui';
import type { ReactElement } from 'react';

export interface TooltipProps {
  readonly text: string;
  /** Something that takes focus, or keyboards never see the text. */
  readonly children: ReactElement;
}

export const TooltipProvider = Radix.Provider;

export const Tooltip = ({ text, children }: TooltipProps) => (
  <Radix.Root delayDuration={300}>
    <Radix.Trigger asChild>{children}</Radix.Trigger>
    <Radix.Portal>
      <Radix.Content
        sideOffset={4}
        collisionPadding={8}
        className="z-50 max-w-80 rounded border border-line bg-raised px-2 py-1 text-small text-text shadow-lg"
      >
        {text}
      </Radix.Content>
    </Radix.Portal>
  </Radix.Root>
);
