import { Check, Copy } from 'lucide-react';
import { useEffect, useState } from 'react';
import { Button } from './button.tsx';
import { IconButton } from './icon-button.tsx';
import { toast } from './toast.tsx';

const SHOWN_MS = 1_500;

export interface CopyButtonProps {
  /** The text, or a function that fetches it. */
  readonly text: string | (() => Promise<string>);
  /** The accessible name, such as `Copy project URI`. */
  readonly label: string;
  /** Whether to show the label as text next to the icon. */
  readonly labelled?: boolean;
  readonly className?: string;
}

export const CopyButton = ({ text, label, labelled = false, className }: CopyButtonProps) => {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(typeof text === 'string' ? text : await text());
      setCopied(true);
      toast('Copied');
    } catch (error) {
      toast(error instanceof Error ? `Not copied: ${error.message}` : 'Not copied', 'bad');
    }
  };
  const props = { onClick: () => void copy(), ...(className !== undefined && { className }) };
  const icon = copied ? <Check aria-hidden className="text-2xx" /> : <Copy aria-hidden />;
  return labelled ? (
    <Button {...props}>
      {icon}
      {label}
    </Button>
  ) : (
    <IconButton label={label} {...props}>
      {icon}
    </IconButton>
  );
};
