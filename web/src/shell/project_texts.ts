// The name of the project, in the header and in the title of the tab. Pure.
import { oneLine } from "../base/text.ts";

/// The last part of the project's folder; empty if it is not known.
export const projectName = (folder: string): string => oneLine(folder.split("/").filter(Boolean).at(-1) ?? folder, 80);

export const titleOf = (name: string): string => (name ? `${name} · cru` : "cru");
