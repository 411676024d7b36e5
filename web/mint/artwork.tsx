/** @jsxImportSource preact */
import { useState } from "preact/hooks";
import { previewsOf } from "../shared/previews.ts";
import type { Animation } from "./animation.ts";

interface ArtworkProps {
  image: string | null;
  animation: Animation | null;
  /** The token's name, or the collection's. */
  name: string;
  /** For visitors who cannot see the picture; empty if the name is shown next to it. */
  alt: string;
  /** Layout width in CSS pixels. */
  width: number;
  /** Shown when there is no picture. */
  instead: preact.ComponentChildren;
}

const words = { still: "Play", moving: "Stop", failed: "Did not play, try again" };

/** A token's picture as a still. Its animation is loaded from this server only when a visitor asks for it. */
export function Artwork({ image, animation, name, alt, width, instead }: ArtworkProps) {
  const [state, setState] = useState<keyof typeof words>("still");
  /** A picture that cannot be shown, or would move by itself. */
  const [bare, setBare] = useState<string | null>(null);
  const moving = state === "moving" ? animation : null;
  const previews = image !== null && image !== bare ? previewsOf(image, width, "?still=true") : null;
  const fail = () => setState("failed");
  return (
    <div class="artwork">
      {moving?.kind === "video" ? (
        <video
          ref={play}
          src={moving.path}
          poster={previews?.src}
          {...{ controls: true, muted: true, loop: true, playsInline: true, preload: "none" }}
          aria-label={`Animation of ${name}`}
          onError={fail}
        />
      ) : moving ? (
        <img key="moving" src={moving.path} alt={alt} width={width} height={width} onError={fail} />
      ) : previews ? (
        <img
          key="still"
          {...previews}
          {...(image === animation?.path ? { onError: () => setBare(image) } : {})}
          alt={alt}
          width={width}
          height={width}
        />
      ) : (
        <div class="no-picture">{instead}</div>
      )}
      <p class="hidden" role="status">
        {state === "failed" ? "The animation did not play." : ""}
      </p>
      {animation && (
        <button
          type="button"
          aria-label={`${words[state]}: animation of ${name}`}
          onClick={() => setState(moving ? "still" : "moving")}
        >
          {words[state]}
        </button>
      )}
    </div>
  );
}

/** The video's error event reports what cannot be played. */
function play(video: HTMLVideoElement | null): void {
  void video?.play().catch(() => undefined);
}
