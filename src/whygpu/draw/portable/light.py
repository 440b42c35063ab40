"""The light that surfaces send to the eye: glTF 2.0's metallic-roughness model (its appendix B).

A light's colour is what a white surface that faces it sends back, so the model's factors 1 / pi are left out.
Ambient light comes from a sky that changes evenly into the ground: as much as the normal's height says for
the diffuse part, as the mirrored ray's for the rest (a split sum with Lagarde's approximate Fresnel term).
"""

from __future__ import annotations

from typing import Any

from whygpu.draw.fast.light import DIELECTRIC, SMOOTHEST
from whygpu.draw.portable.shadow import shadow
from whygpu.draw.portable.surface import Surface, dot, unit
from whygpu.draw.uniforms import Uniforms
from whygpu.engine import current

__all__ = ["light"]


def light(xp: Any, uniforms: Uniforms, surface: Surface, maps: Any) -> Any:
    """Linear RGB, (n, 3) float32. ``maps`` are the depths of all shadow maps, or None."""
    backend = current()
    ambient = backend.asarray(uniforms.ambient, "float32")
    normal, view = surface.normal, unit(xp, _view(xp, uniforms, surface.x, surface.y))
    base, metallic, rough = surface.base[:, :3], surface.metallic, surface.rough
    plain = surface.specular * (1.0 - metallic)
    most = metallic + plain  # reflectance at grazing incidence
    diffuse = base * (1.0 - metallic)
    mirror = base * metallic + DIELECTRIC * plain  # reflectance at normal incidence
    alpha2 = (rough * rough) * (rough * rough)
    alpha2 = xp.where(alpha2 > SMOOTHEST, alpha2, xp.zeros_like(alpha2) + SMOOTHEST)
    to_eye = dot(xp, normal, view)  # (n, 1)
    eye = xp.abs(to_eye)
    hidden_eye = eye + xp.sqrt(alpha2 + (1.0 - alpha2) * (eye * eye))
    grazing = 1.0 - xp.where(eye < 1, eye, xp.ones_like(eye))
    gain = (1.0 - rough) * most
    gain = xp.where(gain > mirror, gain, mirror) - mirror
    grazing2 = grazing * grazing
    reflected = mirror + gain * (grazing2 * grazing2 * grazing)
    reflected_y = 2.0 * to_eye * normal[:, 1:2] - view[:, 1:2]
    around = diffuse * (ambient[0, :] + ambient[1, :] * normal[:, 1:2])
    around = around + reflected * (ambient[0, :] + ambient[1, :] * reflected_y)
    color = surface.emissive + around * surface.occlusion
    for lamp in uniforms.lamps:
        towards, strength = _arriving(xp, uniforms, lamp, surface, maps)
        cosine = dot(xp, normal, towards)
        half2 = 2.0 + 2.0 * dot(xp, view, towards)  # |l + v| squared = 4 (v . h) squared
        half2 = xp.where(half2 > 1e-6, half2, xp.zeros_like(half2) + 1e-6)
        sum_ = cosine + to_eye
        spread = (sum_ * sum_ / half2) * (alpha2 - 1.0) + 1.0
        spread = xp.where(spread > alpha2, spread, alpha2)
        facing = xp.where(cosine > 0, cosine, xp.zeros_like(cosine))
        hidden = facing + xp.sqrt(alpha2 + (1.0 - alpha2) * (facing * facing))
        gloss = alpha2 / (spread * spread * (hidden * hidden_eye))
        along = 0.5 * xp.sqrt(half2)
        off = 1.0 - xp.where(along < 1, along, xp.ones_like(along))
        off2 = off * off
        schlick = off2 * off2 * off
        lost = surface.specular * (DIELECTRIC + (1.0 - DIELECTRIC) * schlick)
        sent = diffuse * (1.0 - lost) + (mirror + (most - mirror) * schlick) * gloss
        color = color + backend.asarray(lamp[3:6], "float32") * (facing * strength) * sent
    return color


def _arriving(xp: Any, uniforms: Uniforms, lamp: Any, surface: Surface, maps: Any) -> tuple[Any, Any]:
    """Towards a light (n, 3), how much of it arrives (n, 1): distance, cone (KHR_lights_punctual), shadow."""
    axis = xp.zeros_like(surface.normal) + current().asarray(lamp[:3], "float32")
    towards, strength = axis, xp.ones_like(surface.metallic)
    away = None
    if lamp[6] > 0:
        apart = current().asarray(lamp[7:10], "float64") - surface.place
        away2 = (apart[:, 0] * apart[:, 0] + apart[:, 1] * apart[:, 1]) + apart[:, 2] * apart[:, 2]
        away2 = xp.where(away2 > 1e-30, away2, xp.zeros_like(away2) + 1e-30)
        away = xp.sqrt(away2)
        towards = xp.astype(apart / away[:, None], xp.float32)
        ratio = away2 * float(lamp[10] * lamp[10])
        window = 1.0 - ratio * ratio
        window = xp.where(window > 0, window, xp.zeros_like(window))
        strength = xp.astype(window / away2, xp.float32)[:, None]
    if lamp[6] == 2:
        cone = dot(xp, axis, towards) * float(lamp[11]) + float(lamp[12])
        cone = xp.where(cone > 0, xp.where(cone < 1, cone, xp.ones_like(cone)), xp.zeros_like(cone))
        strength = strength * (cone * cone)
    if maps is not None and lamp[13] >= 0:
        away = xp.zeros_like(surface.place[:, 0]) if away is None else away
        cosine = dot(xp, surface.smooth, towards)[:, 0]
        strength = strength * shadow(xp, maps, uniforms, lamp, surface.place, towards, away, cosine)
    return towards, strength


def _view(xp: Any, uniforms: Uniforms, x: Any, y: Any) -> Any:
    """Towards the eye from each pixel, (n, 3) float32, any length."""
    ray = current().asarray(uniforms.rays, "float32")
    x, y = xp.astype(x, xp.float32)[:, None], xp.astype(y, xp.float32)[:, None]
    return ray[0:1, :] + x * ray[1:2, :] + y * ray[2:3, :]
